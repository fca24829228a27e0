import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { buildDestination } from '#events/destinations/index.ts'
import {
  event,
  events,
  json,
  SECRET_MARK,
  NOW,
  partsWith,
  refused,
  send,
  service,
  type Answer,
  type Seen,
} from './support.ts'

const KEY = `key${SECRET_MARK}`
const target = { api_key: KEY, ddtags: 'env:test,team:a', service: 'gate', ddsite: 'datadoghq.eu' }

interface Entry {
  readonly message: string
  readonly ddsource: string
  readonly ddtags?: string
  readonly service: string
  readonly date: string
}

const textOf = ({ headers, body }: Seen): string =>
  (headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString()
const entriesOf = (seen: Seen | undefined): Entry[] =>
  JSON.parse(textOf(seen ?? assert.fail('no call'))) as Entry[]

const intake: Answer = (seen, response) => {
  if (seen.headers['dd-api-key'] !== KEY)
    return json(response, 403, { errors: [{ detail: seen.headers['dd-api-key'] }] })
  if (seen.path !== '/api/v2/logs' || seen.headers['content-type'] !== 'application/json')
    return json(response, 404, {})
  const entries = entriesOf(seen)
  const isSmall =
    textOf(seen).length <= 5_000_000 && entries.every(entry => JSON.stringify(entry).length <= 1_000_000)
  json(response, entries.length > 1000 || !isSmall ? 413 : 202, {})
}

const build = (url: string, more: Partial<typeof target> = {}) =>
  buildDestination({ datadog: { ...target, ...more } }, partsWith({ endpoints: { datadog: url } }))

suite('Datadog', () => {
  test('takes events as messages, compressed when that pays', async () => {
    await using server = await service(intake)
    const destination = build(server.url)
    const batch = events(20)
    await send(destination, batch)
    await send(destination, [event('a', { body: '{"a":1}' })])
    assert.deepEqual(
      server.seen.map(({ headers }) => headers['content-encoding']),
      ['gzip', undefined],
    )
    assert.deepEqual(
      entriesOf(server.seen[0]).map(({ message }) => message),
      batch.map(({ body }) => body),
    )
    const { message: _, ...rest } = entriesOf(server.seen[0])[0] ?? assert.fail('no entry')
    assert.deepEqual(rest, {
      ddsource: 'adit',
      ddtags: 'env:test,team:a',
      service: 'gate',
      date: batch[0]?.at,
    })
  })

  test('takes the largest batches, also of events that get longer and with long tags', async () => {
    await using server = await service(intake)
    for (const ddtags of ['a', 'x'.repeat(2048)]) {
      const destination = build(server.url, { ddtags })
      const size = Math.floor(destination.maxBytes / destination.maxEvents)
      const body = `{"a":"${'\\"'.repeat(Math.floor((size - 10) / 2))}"}`
      await send(
        destination,
        Array.from({ length: destination.maxEvents }, (_, at) => event(`e${at}`, { body })),
      )
    }
    assert.equal(server.seen.length, 2)
  })

  test('fails for good only for the event that is too large', async () => {
    await using server = await service(intake)
    const error = await refused(send(build(server.url), [event('a', { pad: 1_000_000 }), event('b')]))
    assert.deepEqual([error.permanent, [...error.taken]], [true, ['b']])
  })

  test('waits for another key when it is wrong, and the key is not logged', async () => {
    await using server = await service(intake)
    const error = await refused(send(build(server.url, { api_key: `wrong${SECRET_MARK}` }), events(1)))
    assert.deepEqual([error.permanent, error.message], [false, 'Datadog responded with 403.'])
    const broken = await refused(send(build(server.url, { api_key: `${SECRET_MARK}\u2603` }), events(1)))
    assert.deepEqual([broken.permanent, broken.misconfigured], [false, true])
  })

  test('waits for as long as requested, in seconds or until a date', async () => {
    const date = new Date(NOW + 90_000).toUTCString()
    for (const [header, wait] of [
      ['30', 30_000],
      [date, 90_000],
      ['nonsense', undefined],
      ['999999999', 86_400_000],
    ] as const) {
      await using server = await service((_, response) =>
        json(response.setHeader('retry-after', header), 429, {}),
      )
      const error = await refused(send(build(server.url), events(1)))
      assert.deepEqual([error.permanent, error.retryAfterMs], [false, wait])
    }
  })

  test('is not sent to a site that is not a name', async () => {
    const error = await refused(
      send(build('http://127.0.0.1:1', { ddsite: 'evil.example/path?' }), events(1)),
    )
    assert.match(error.message, /not a name such as/)
    assert.deepEqual([error.permanent, error.misconfigured], [false, true])
  })
})
