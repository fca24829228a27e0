import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { encode } from '#contract/body.ts'
import { eventDestination } from '#contract/kinds/events.ts'
import { startServer } from '../../support/server.ts'

const url = 'https://events.example.com/adit'
const PATH = '/event_destinations'

suite('the number of events in a POST of a webhook', () => {
  test('is one unless said, is read back as it was written, and can be changed', async () => {
    await using server = await startServer()
    const { api } = server
    const usual = await api.post(PATH, { target: { webhook: { url } } })
    assert.deepEqual([usual.status, usual.body.target.webhook], [201, { url, secret: '', batch_size: 1 }])
    const chosen = await api.post(PATH, { target: { webhook: { url, batch_size: 250 } } })
    const place = `${PATH}/${chosen.body.id}`
    assert.equal((await api.get(place)).body.target.webhook.batch_size, 250)
    const changed = await api.patch(place, { target: { webhook: { url, batch_size: 1000 } } })
    assert.equal(changed.body.target.webhook.batch_size, 1000)
    assert.equal((await api.get(place)).body.target.webhook.batch_size, 1000)
  })

  test('is refused when it is none, too many or not a whole number', async () => {
    await using server = await startServer()
    for (const batch_size of [0, -1, 1001, 1.5, '10']) {
      const { status, body } = await server.api.post(PATH, { target: { webhook: { url, batch_size } } })
      assert.equal(status, 400, String(batch_size))
      assert.match(JSON.stringify(body), /batch_size/)
    }
  })

  test('is read as one from what was stored before there was a choice', () => {
    const link = (id: string) => ({ id, uri: '' })
    const stored = { id: 'ed_1', target: { webhook: { url, secret: '' } } }
    const { target } = encode(eventDestination.shape, stored, link, 'mask') as {
      target: { webhook: { batch_size: number } }
    }
    assert.equal(target.webhook.batch_size, 1)
  })
})
