import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { buildDestination } from '#events/destinations/index.ts'
import { events, json, SECRET_MARK, NOW, partsWith, refused, send, service, type Answer } from './support.ts'

const headers = { Authorization: `Bearer ${SECRET_MARK}`, 'X-Scope': 'a' }
const build = (endpoint: string, given: Record<string, string> = headers) =>
  buildDestination({ otlp: { endpoint, headers: given } }, partsWith())

interface LogRecord {
  readonly timeUnixNano: string
  readonly observedTimeUnixNano: string
  readonly severityNumber: number
  readonly severityText: string
  readonly eventName: string
  readonly body: { readonly stringValue: string }
  readonly attributes: readonly { readonly key: string; readonly value: { readonly stringValue: string } }[]
}

interface Logs {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: LogRecord['attributes'] }
    readonly scopeLogs: readonly {
      readonly scope: { readonly name: string }
      readonly logRecords: readonly LogRecord[]
    }[]
  }[]
}

const collector =
  (answer: unknown = {}): Answer =>
  (seen, response) => {
    if (seen.headers.authorization !== headers.Authorization)
      return json(response, 401, { message: seen.headers.authorization })
    if (seen.path !== '/otlp/v1/logs' || seen.headers['content-type'] !== 'application/json')
      return json(response, 404, {})
    json(response, 200, answer)
  }

suite('OTLP logs', () => {
  test('sends records in the form that the protocol gives to JSON', async () => {
    await using server = await service(collector())
    const batch = events(3)
    await send(build(`${server.url}/otlp/`), batch)
    await send(build(`${server.url}/otlp/v1/logs`), batch)
    const [call = assert.fail('no call')] = server.seen
    assert.equal(call.headers['x-scope'], 'a')
    const { resourceLogs } = JSON.parse(call.body.toString()) as Logs
    const [{ resource, scopeLogs } = assert.fail('no resource')] = resourceLogs
    assert.deepEqual(resource.attributes, [{ key: 'service.name', value: { stringValue: 'adit' } }])
    const records = scopeLogs[0]?.logRecords ?? []
    assert.deepEqual(
      records.map(({ body }) => body.stringValue),
      batch.map(({ body }) => body),
    )
    const { body: _, ...rest } = records[0] ?? assert.fail('no record')
    assert.deepEqual(rest, {
      timeUnixNano: `${Date.parse('2026-11-15T09:59:00.123Z')}000000`,
      observedTimeUnixNano: `${NOW}000000`,
      severityNumber: 9,
      severityText: 'INFO',
      eventName: 'ip_policy_created.v0',
      attributes: [
        { key: 'event.id', value: { stringValue: 'ev_0' } },
        { key: 'event.name', value: { stringValue: 'ip_policy_created.v0' } },
      ],
    })
  })

  test('counts none as delivered when the collector rejected some, as it does not name them', async () => {
    await using server = await service(
      collector({ partialSuccess: { rejectedLogRecords: '2', errorMessage: SECRET_MARK } }),
    )
    const error = await refused(send(build(`${server.url}/otlp`), events(3)))
    assert.deepEqual([error.permanent, error.taken.size], [true, 0])
    assert.match(error.message, /rejected 2 of 3 records/)
  })

  test('takes an answer with a warning or without content as success', async () => {
    await using warns = await service(
      collector({ partialSuccess: { rejectedLogRecords: 0, errorMessage: 'beware' } }),
    )
    await send(build(`${warns.url}/otlp`), events(1))
    await using silent = await service((_, response) => void response.end())
    await send(build(silent.url), events(1))
  })

  test('distinguishes invalid events from failures of the collector, and these from temporary ones', async () => {
    for (const [status, permanent] of [
      [400, true],
      [401, false],
      [403, false],
      [404, false],
      [413, true],
      [429, false],
      [502, false],
      [503, false],
      [504, false],
    ] as const) {
      await using server = await service((_, response) =>
        json(response.setHeader('retry-after', '3'), status, { message: SECRET_MARK }),
      )
      const error = await refused(send(build(server.url), events(1)))
      assert.equal(error.permanent, permanent, String(status))
      assert.equal(error.retryAfterMs, 3000)
    }
  })

  test('refuses headers that cannot be sent or are not to be chosen, without their values', async () => {
    for (const given of [
      { 'a b': SECRET_MARK },
      { a: `${SECRET_MARK}\u2603` },
      { 'Transfer-Encoding': SECRET_MARK },
      { Host: SECRET_MARK },
    ]) {
      const error = await refused(send(build('http://127.0.0.1:1', given), events(1)))
      assert.deepEqual([error.permanent, error.misconfigured], [false, true])
      assert.match(error.message, /header/)
    }
  })
})
