import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2, createServer as createHttp2 } from 'node:http2'
import { Agent } from 'node:https'
import { type AddressInfo, connect as connectTcp } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { suite, test } from 'node:test'
import { newId } from '#base/ids.ts'
import { usualFields } from '#contract/events/traffic-fields.ts'
import { accountId, allHttp, HOST, type EventObject, TrafficWorld } from './support.ts'

const hello = (_request: unknown, response: { end(text: string): void }): void => response.end('hello')

/** Every reported field, by its full name. */
function namesIn(published: EventObject, above = ''): string[] {
  return Object.entries(published).flatMap(([name, value]) => {
    const whole = above + name
    const isLeaf = allHttp.some(field => field === whole)
    return isLeaf ? [whole] : namesIn(value, `${whole}.`)
  })
}

const moment = (text: string): number => {
  assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  return Date.parse(text)
}

suite('what is reported about a request', () => {
  test('has the connection, the request, the answer and their moments', async () => {
    const begun = Date.now()
    await using world = await TrafficWorld.start()
    world.edge('a.test', await world.static(hello))
    const published = await world.eventOf('a.test/x/y?secret=1&b=%20', {
      headers: { 'user-agent': 'test/1' },
    })
    assert.equal(published.conn.client_ip, HOST)
    assert.equal(published.conn.server_ip, HOST)
    assert.equal(published.conn.server_name, 'a.test')
    assert.equal(published.conn.server_port, world.httpsPort)
    const { request, response } = published.http
    const moments = [
      published.conn.start_ts,
      request.first_byte_ts,
      request.last_byte_ts,
      response.first_byte_ts,
      response.last_byte_ts,
    ].map(moment)
    assert.deepEqual(
      moments,
      moments.toSorted((a, b) => a - b),
    )
    // The clock that measures and the one of the system may differ a little.
    assert.ok(Math.abs((moments[0] ?? 0) - begun) < 60_000)
    assert.equal(request.method, 'GET')
    assert.equal(request.version, 'HTTP/1.1')
    assert.deepEqual(request.url, {
      host: 'a.test',
      path: '/x/y',
      query: 'secret=1&b=%20',
      raw: 'https://a.test/x/y?secret=1&b=%20',
      scheme: 'https',
    })
    assert.equal(request.user_agent, 'test/1')
    assert.equal(request.body_length, 0)
    assert.equal(response.body_length, 5)
    assert.equal(response.status_code, 200)
    assert.match(published.tls.version, /^TLSv1\.[23]$/)
    assert.match(published.tls.cipher_suite, /^TLS_/)
    assert.match(published.ja4_fingerprint, /^t13d\d{4}.._[0-9a-f]{12}_[0-9a-f]{12}$/)
    assert.deepEqual(published.traffic_policy, { logs: [] })
  })

  test('has nothing of modules that are not there', async () => {
    await using world = await TrafficWorld.start()
    world.edge('a.test', await world.static(hello))
    const published = await world.eventOf('a.test')
    assert.deepEqual(Object.keys(published).toSorted(), [
      'backend',
      'conn',
      'http',
      'ja4_fingerprint',
      'tls',
      'traffic_policy',
    ])
    assert.equal(published.http.request.url.query, '')
  })

  test('has only what is wanted, and is absent without a subscription', async () => {
    await using world = await TrafficWorld.start()
    world.edge('a.test', await world.static(hello))
    world.traffic.subscribe({ accountId, http: ['http.response.status_code', 'conn.client_ip'], tcp: [] })
    const published = await world.eventOf('a.test')
    assert.deepEqual(published, { conn: { client_ip: HOST }, http: { response: { status_code: 200 } } })
    world.traffic.subscribe({ accountId, http: [], tcp: [] })
    assert.equal(world.traffic.wantsRequests, false)
    assert.equal(world.traffic.wantsFingerprints, false)
    world.traffic.subscribe({
      accountId,
      http: usualFields('http_request_complete.v0') as typeof allHttp,
      tcp: [],
    })
    const usual = namesIn(await world.eventOf('a.test?secret=1'))
    assert.equal(world.events.length, 2)
    for (const name of ['http.request.headers', 'http.request.url.raw', 'ja4_fingerprint'])
      assert.ok(!usual.includes(name), name)
  })

  test('has the fields of both heads, without the secrets in them', async () => {
    await using world = await TrafficWorld.start()
    const backend = await world.static((_request, response) => {
      response.setHeader('Set-Cookie', ['session=geheim', 'b=geheim'])
      response.setHeader('X-Plain', ['one', 'two'])
      response.end('hello')
    })
    world.edge('a.test', backend)
    const headers = {
      authorization: 'Bearer geheim',
      'proxy-authorization': 'Basic geheim',
      cookie: 'a=geheim',
      'x-api-key': 'geheim',
      'X-Auth-Token': 'geheim',
      'x-csrf-token': 'geheim',
      'x-amz-security-token': 'geheim',
      'x-hub-signature-256': 'geheim',
      'x-plain': 'seen',
      constructor: 'seen',
    }
    const published = await world.eventOf('a.test', { headers })
    const { request, response } = published.http
    assert.deepEqual(request.headers['x-plain'], ['seen'])
    assert.deepEqual(request.headers['constructor'], ['seen'])
    for (const name of Object.keys(headers).slice(0, 8))
      assert.deepEqual(request.headers[name.toLowerCase()], ['REDACTED'], name)
    assert.deepEqual(response.headers['x-plain'], ['one', 'two'])
    assert.deepEqual(response.headers['set-cookie'], ['REDACTED', 'REDACTED'])
    assert.doesNotMatch(world.events.map(({ body }) => body).join(''), /geheim/)
  })

  test('counts content whose length is not declared', async () => {
    await using world = await TrafficWorld.start()
    const backend = await world.static((request, response) => {
      request.resume().on('end', () => {
        response.write('a'.repeat(1000))
        setImmediate(() => response.end('b'.repeat(234)))
      })
    })
    world.edge('a.test', backend)
    const published = await world.eventOf('a.test', {
      method: 'POST',
      chunks: ['x'.repeat(700), 'y'.repeat(77)],
    })
    assert.equal(published.http.request.body_length, 777)
    assert.equal(published.http.response.body_length, 1234)
    const { request, response } = published.http
    assert.ok(moment(request.last_byte_ts) >= moment(request.first_byte_ts))
    assert.ok(moment(request.last_byte_ts) <= moment(response.first_byte_ts))
    const head = await world.eventOf('a.test', { method: 'HEAD' })
    assert.equal(head.http.response.body_length, 0)
  })

  test('has the same of HTTP/2', async () => {
    await using world = await TrafficWorld.start()
    const backend = await world.static((request, response) => {
      request.resume().on('end', () => response.write('ab', () => response.end('c')))
    })
    world.edge('a.test', backend)
    const client = connectHttp2(`https://a.test:${world.httpsPort}`, {
      createConnection: () =>
        connectTls({
          host: HOST,
          port: world.httpsPort,
          servername: 'a.test',
          ALPNProtocols: ['h2'],
          rejectUnauthorized: false,
        }),
    })
    const stream = client.request({ ':method': 'POST', ':path': '/up?q', ':authority': 'a.test' })
    stream.write('12345')
    stream.end('678')
    await once(stream.resume(), 'close')
    client.close()
    const { http, ja4_fingerprint: ja4 } = await world.object(() => true)
    assert.equal(http.request.version, 'HTTP/2')
    assert.equal(http.request.body_length, 8)
    assert.equal(http.response.body_length, 3)
    assert.equal(http.request.url.raw, 'https://a.test/up?q')
    assert.ok(moment(http.request.last_byte_ts) <= moment(http.response.first_byte_ts))
    assert.match(ja4, /^t13d\d{4}h2_/)
  })

  test('is little of one that cannot be read', async () => {
    await using world = await TrafficWorld.start()
    const socket = connectTcp(world.httpPort, HOST)
    socket.end('GET / HTTP/9.9\r\n\r\n')
    await once(socket.resume(), 'close')
    const published = await world.object(() => true)
    assert.equal(published.http.request.method, undefined)
    assert.equal(published.http.request.url.raw, undefined)
    assert.equal(published.http.request.headers, undefined)
    assert.equal(published.http.request.url.scheme, 'http')
    assert.ok(published.http.response.status_code >= 400)
    assert.equal(published.tls, undefined)
    assert.equal(published.ja4_fingerprint, undefined)
  })

  test('reports whether the connection to the service was used before', async () => {
    await using world = await TrafficWorld.start()
    world.edge('static.test', await world.static(hello))
    const kept = [await world.eventOf('static.test'), await world.eventOf('static.test')]
    assert.deepEqual(
      kept.map(({ backend }) => backend.connection_reused),
      [false, true],
    )
    const agent = await world.agent()
    const tunnel = { proto: 'https', domain: 'app.adit.localhost' } as const
    await agent.listen({ ...tunnel, forwardTo: await world.service(hello) })
    const through = [await world.eventOf('app.adit.localhost'), await world.eventOf('app.adit.localhost')]
    assert.deepEqual(
      through.map(({ backend }) => backend.connection_reused),
      [false, true],
    )
    const modern = createHttp2((_request, response) => response.end('hello')).listen(0, HOST)
    await once(modern, 'listening')
    const { port } = modern.address() as AddressInfo
    await agent.listen({ domain: 'modern.adit.localhost', forwardTo: port, upstreamProtocol: 'http2' })
    const shared = [
      await world.eventOf('modern.adit.localhost'),
      await world.eventOf('modern.adit.localhost'),
    ]
    modern.close()
    assert.deepEqual(
      shared.map(({ backend }) => backend.connection_reused),
      [false, true],
    )
    const fixed = world.source.put('http_response_backend', newId('bkdhr'), {
      status_code: 200,
      headers: {},
      body: 'x',
    })
    world.edge('fixed.test', fixed)
    assert.equal((await world.eventOf('fixed.test')).backend, undefined)
  })

  test('reports for both requests of one connection when that began', async () => {
    await using world = await TrafficWorld.start()
    world.edge('a.test', await world.static(hello))
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const first = await world.eventOf('a.test', { agent })
    const second = await world.eventOf('a.test', { agent })
    agent.destroy()
    assert.equal(first.conn.start_ts, second.conn.start_ts)
    assert.ok(moment(second.http.request.first_byte_ts) >= moment(first.http.response.last_byte_ts))
  })
})
