import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { buildDestination } from '#events/destinations/index.ts'
import { event, events, json, SECRET_MARK, NOW, partsWith, refused, send, service } from './support.ts'

const secret = `client${SECRET_MARK}&=+`

/** The sign-in and the data collection endpoint. Each token is a new one; `valid` is the accepted one. */
async function azure({ status = 204, lifetime = 3600 } = {}) {
  const clock = { now: NOW }
  const valid = new Set<string>()
  let tokens = 0
  const stack = new AsyncDisposableStack()
  const login = stack.use(
    await service((seen, response) => {
      const form = new URLSearchParams(seen.body.toString())
      if (seen.path !== '/tenant-1/oauth2/v2.0/token') return json(response, 404, {})
      if (form.get('client_id') !== 'client-1' || form.get('client_secret') !== secret)
        return json(response, 401, { error: 'invalid_client', error_description: form.get('client_secret') })
      if (
        form.get('grant_type') !== 'client_credentials' ||
        form.get('scope') !== 'https://monitor.azure.com//.default'
      )
        return json(response, 400, { error: 'invalid_scope' })
      const token = `token${SECRET_MARK}${++tokens}`
      valid.add(token)
      json(response, 200, { token_type: 'Bearer', access_token: token, expires_in: lifetime })
    }),
  )
  const endpoint = stack.use(
    await service((seen, response) => {
      if (!valid.has(String(seen.headers.authorization).replace(/^Bearer /, '')))
        return json(response, 401, {})
      if (seen.path !== '/dataCollectionRules/dcr-1/streams/Custom-Events_CL?api-version=2023-01-01')
        return json(response, 404, {})
      if (seen.headers['content-type'] !== 'application/json' || seen.body.length > 1_000_000)
        return json(response, 413, {})
      if (!Array.isArray(JSON.parse(seen.body.toString()))) return json(response, 400, {})
      response.writeHead(status, status === 429 ? { 'retry-after': '12' } : {}).end()
    }),
  )
  const target = {
    tenant_id: 'tenant-1',
    client_id: 'client-1',
    client_secret: secret,
    logs_ingestion_uri: `${endpoint.url}/`,
    data_collection_rule_id: 'dcr-1',
    data_collection_stream_name: 'Custom-Events_CL',
  }
  const parts = partsWith({ endpoints: { azure_login: login.url }, now: () => clock.now })
  const build = (more: Partial<typeof target> = {}) =>
    buildDestination({ azure_logs_ingestion: { ...target, ...more } }, parts)
  return { login, endpoint, valid, clock, build, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

suite('Azure logs ingestion', () => {
  test('takes events with their time, and a token serves until it is about to expire', async () => {
    await using cloud = await azure()
    const destination = cloud.build()
    const batch = events(3)
    await Promise.all([send(destination, batch), send(destination, batch)])
    await send(destination, batch)
    assert.equal(cloud.login.seen.length, 1)
    assert.deepEqual(
      JSON.parse(cloud.endpoint.seen[0]?.body.toString() ?? ''),
      batch.map(({ at, body }) => ({ TimeGenerated: at, ...(JSON.parse(body) as object) })),
    )
    cloud.clock.now += 3_590_000
    await send(destination, batch)
    assert.equal(cloud.login.seen.length, 2)
  })

  test('requests a new token when the old one was withdrawn', async () => {
    await using cloud = await azure()
    const destination = cloud.build()
    await send(destination, events(1))
    cloud.valid.clear()
    await send(destination, events(1))
    assert.equal(cloud.login.seen.length, 2)
  })

  test('waits for another secret when it is wrong, which is not logged', async () => {
    await using cloud = await azure()
    const error = await refused(send(cloud.build({ client_secret: `wrong${SECRET_MARK}` }), events(1)))
    assert.deepEqual(
      [error.permanent, error.message],
      [false, 'Azure sign-in responded with 401 (invalid_client).'],
    )
    assert.equal(cloud.endpoint.seen.length, 0)
  })

  test('waits for a stream that is not there', async () => {
    await using cloud = await azure()
    const error = await refused(send(cloud.build({ data_collection_stream_name: '../x' }), events(1)))
    assert.deepEqual([error.permanent, error.message], [false, 'Azure logs ingestion responded with 404.'])
    assert.match(cloud.endpoint.seen[0]?.path ?? '', /streams\/\.\.%2Fx\?/)
  })

  test('waits when it is throttled and tries again after failures', async () => {
    for (const [status, wait] of [
      [429, 12_000],
      [503, undefined],
    ] as const) {
      await using cloud = await azure({ status })
      const error = await refused(send(cloud.build(), events(1)))
      assert.deepEqual([error.permanent, error.retryAfterMs], [false, wait])
    }
  })

  test('takes the largest batches, and fails for good only for what is larger', async () => {
    await using cloud = await azure()
    const destination = cloud.build()
    const pad =
      Math.floor(destination.maxBytes / destination.maxEvents) - Buffer.byteLength(event('ev_0000').body)
    await send(
      destination,
      Array.from({ length: destination.maxEvents }, (_, at) =>
        event(`ev_${String(at).padStart(4, '0')}`, { pad }),
      ),
    )
    const error = await refused(send(destination, [event('a'), event('b', { pad: 1_000_000 })]))
    assert.deepEqual([error.permanent, [...error.taken]], [true, ['a']])
  })
})
