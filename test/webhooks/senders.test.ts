import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { secretForms, senders } from '#webhooks/senders.ts'
import { bodyVectors } from './body-vectors.ts'
import { customVectors } from './custom-vectors.ts'
import { timestampedVectors } from './timestamped-vectors.ts'
import { CONTENT, verify, type SentWebhook, type Vector } from './support.ts'

const vectors = [...bodyVectors, ...timestampedVectors, ...customVectors]
const NOW = Date.now()

const kindOf = async (
  vector: Vector,
  sent: SentWebhook,
  secret = vector.secret,
  now = NOW,
): Promise<string> => (await verify({ provider: vector.provider, secret, sent, now })).kind

function without({ headers, ...rest }: SentWebhook, name: string): SentWebhook {
  const kept = Object.entries(headers).filter(([key]) => key.toLowerCase() !== name.toLowerCase())
  return { ...rest, headers: Object.fromEntries(kept) }
}

/** The same bytes but one. */
function changed({ body, ...rest }: SentWebhook): SentWebhook {
  const other = Buffer.concat([body, Buffer.from(body.length === 0 ? ' ' : '')])
  const at = Math.floor(other.length / 2)
  other[at] = (other[at] ?? 0) ^ 1
  return { ...rest, body: other }
}

for (const vector of vectors) {
  const { provider, variant, window, content, needs, other = 'another secret' } = vector
  suite(`SEC-20: webhooks of ${provider}${variant === undefined ? '' : ` (${variant})`}`, () => {
    test('pass when they are signed', async () => {
      // The libraries of senders compare with the clock, which is later than when this file was loaded.
      const now = Date.now()
      const sent = await vector.make(now, CONTENT)
      await vector.agrees?.(sent)
      assert.equal(await kindOf(vector, sent, vector.secret, now), 'verified')
    })

    test('are refused when the secret is another', async () => {
      assert.equal(await kindOf(vector, await vector.make(NOW, CONTENT), other), 'refused')
    })

    for (const name of needs)
      test(`are refused without ${name}`, async () => {
        assert.equal(await kindOf(vector, without(await vector.make(NOW, CONTENT), name)), 'refused')
      })

    if (content !== 'unsigned')
      test('are refused when a byte of the content is another', async () => {
        assert.equal(await kindOf(vector, changed(await vector.make(NOW, CONTENT))), 'refused')
      })

    if (content === undefined)
      test('pass without content and with content that is no text', async () => {
        assert.equal(await kindOf(vector, await vector.make(NOW, Buffer.alloc(0))), 'verified')
        assert.equal(await kindOf(vector, await vector.make(NOW, Buffer.from('\n\r\0 "\\'))), 'verified')
      })

    if (window !== undefined)
      test(`are refused more than ${window} seconds before or after they were signed`, async () => {
        const at = async (offset: number): Promise<string> =>
          kindOf(vector, await vector.make(NOW + offset * 1000, CONTENT))
        assert.equal(await at(-window + 2), 'verified')
        assert.equal(await at(window - 2), 'verified')
        assert.equal(await at(-window - 2), 'refused')
        assert.equal(await at(window + 2), 'refused')
      })
  })
}

suite('the table of senders', () => {
  test('is tested row by row', () => {
    const tested = new Set([...vectors.map(({ provider }) => provider), 'sns'])
    assert.deepEqual([...tested].toSorted(), Object.keys(senders).toSorted())
  })

  test('has a row for every sender whose secrets have a form', () => {
    for (const name of Object.keys(secretForms)) assert.ok(Object.hasOwn(senders, name), name)
  })
})
