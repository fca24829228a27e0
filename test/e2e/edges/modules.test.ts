import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { createServer, type AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { WebSocket } from 'ws'
import { secretText } from '../../support/secrets.ts'
import { World } from './world.ts'
import { until } from '../../support/until.ts'

const NAME = 'modules.example.test'

suite('modules of a route, through TLS', () => {
  let world: World
  let edge = ''
  let count = 0

  before(async () => {
    world = await World.start()
    edge = await world.edge([NAME])
  })
  after(() => world[Symbol.asyncDispose]())

  /** A route of its own; answers its address. */
  const route = async (backend: string, modules: Record<string, unknown>): Promise<string> => {
    const path = `/r${count++}`
    await world.route(edge, path, backend, modules)
    await until(() => world.ask(NAME + path), { fits: ({ code }) => code !== 'ERR_ADIT_3200' })
    return NAME + path
  }

  test('circuit_breaker stops requests to a failing service, and retries later', async () => {
    let failing = true
    let asked = 0
    const service = await world.static((_, response) => {
      asked++
      response.writeHead(failing ? 500 : 200).end('x')
    })
    const url = await route(service, {
      circuit_breaker: {
        tripped_duration: 1,
        rolling_window: 60,
        num_buckets: 10,
        volume_threshold: 3,
        error_threshold_percentage: 0.5,
      },
    })
    // On a slow machine it may have tried the service again before the first visit that it answers itself.
    let askedBefore = 0
    const visit = () => {
      askedBefore = asked
      return world.ask(url)
    }
    const open = await until(visit, { fits: ({ status }) => status === 503 })
    assert.equal(open.code, 'ERR_ADIT_3202')
    assert.equal(open.headers['retry-after'], '1')
    assert.ok(askedBefore >= 3)
    assert.equal(asked, askedBefore)
    failing = false
    await until(() => world.ask(url), { fits: ({ status }) => status === 200 })
    assert.equal(asked, askedBefore + 1)
    assert.equal((await world.ask(url)).status, 200)
  })

  test('compression sends what the client accepts', async () => {
    const text = 'compress me, please. '.repeat(500)
    const service = await world.static((_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', etag: '"e"' }).end(text)
    })
    const url = await route(service, { compression: {} })
    const plain = await world.ask(url)
    assert.equal(plain.text, text)
    assert.equal(plain.headers['vary'], 'Accept-Encoding')
    const asked = request({
      host: '127.0.0.1',
      port: world.server.bound.https?.port,
      servername: NAME,
      ca: world.ca,
      agent: new Agent(),
      path: url.slice(NAME.length),
      headers: { host: NAME, 'accept-encoding': 'gzip' },
    }).end()
    const [answer] = await once(asked, 'response')
    assert.equal(answer.headers['content-encoding'], 'gzip')
    assert.equal(answer.headers.etag, 'W/"e"')
    assert.equal(gunzipSync(Buffer.concat(await answer.toArray())).toString(), text)
  })

  test('request_headers and response_headers change both heads, with variables', async () => {
    const service = await world.static((incoming, response) => {
      response.setHeader('server', 'secret')
      response.end(JSON.stringify(incoming.headers))
    })
    const url = await route(service, {
      request_headers: {
        add: { host: 'inner.test', 'X-IP': '${.conn.client_ip}', 'x-role': 'user' },
        remove: ['x-removed'],
      },
      response_headers: {
        add: { 'x-id': '${.http.request_id}', 'x-status': '${.http.response.status_code}' },
        remove: ['Server'],
      },
    })
    const got = await world.ask(url, { headers: { 'x-role': 'admin', 'x-removed': '1', 'x-kept': '2' } })
    const seen = JSON.parse(got.text)
    assert.equal(seen.host, 'inner.test')
    assert.equal(seen['x-ip'], '127.0.0.1')
    assert.equal(seen['x-role'], 'user')
    assert.equal(seen['x-removed'], undefined)
    assert.equal(seen['x-kept'], '2')
    assert.equal(got.headers['x-id'], got.requestId)
    assert.equal(got.headers['x-status'], '200')
    assert.equal(got.headers['server'], undefined)
  })

  for (const [why, module, code] of [
    ['an unknown variable', { request_headers: { add: { a: '${.no.such}' } } }, 'ERR_ADIT_90180'],
    ['a variable that is not closed', { response_headers: { add: { a: '${.conn' } } }, 'ERR_ADIT_90180'],
    ['a host of an answer', { response_headers: { add: { host: 'a' } } }, 'ERR_ADIT_90181'],
    [
      'a header that only the gateway sets',
      { request_headers: { remove: ['x-forwarded-for'] } },
      'ERR_ADIT_90011',
    ],
    ['a pattern that Go does not know', { user_agent_filter: { deny: ['(?=x)'] } }, 'ERR_ADIT_90018'],
    [
      'a secret of the wrong form',
      { webhook_verification: { provider: 'vmware', secret: secretText('no pair') } },
      'ERR_ADIT_90182',
    ],
  ] as const)
    test(`${why} is rejected by the API, and nothing is created`, async () => {
      const { api } = world.server
      const other = await world.edge([`${randomUUID()}.example.test`])
      const body = { match_type: 'path_prefix', match: '/', ...module }
      const refused = await api.post(`/edges/https/${other}/routes`, body)
      assert.deepEqual([refused.status, refused.body.error_code], [400, code])
      assert.deepEqual((await api.get(`/edges/https/${other}`)).body.routes, [])
    })

  test('user_agent_filter decides by the program', async () => {
    const url = await route(await world.fixedResponse('in'), {
      user_agent_filter: { allow: ['goodbot'], deny: ['bot'] },
    })
    const as = (agent: string) => world.ask(url, { headers: { 'user-agent': agent } })
    assert.equal((await as('Mozilla/5.0')).text, 'in')
    assert.equal((await as('goodbot/1')).text, 'in')
    assert.equal((await as('badbot/1')).code, 'ERR_ADIT_3211')
    assert.equal((await world.ask(url)).status, 403)
  })

  test('ip_restriction follows its policy', async () => {
    const policy = await world.make('/ip_policies')
    const url = await route(await world.fixedResponse('in'), {
      ip_restriction: { ip_policy_ids: [policy.id] },
    })
    assert.equal((await world.ask(url)).code, 'ERR_ADIT_3203')
    await world.make('/ip_policy_rules', { ip_policy_id: policy.id, cidr: '127.0.0.0/8', action: 'allow' })
    await until(() => world.ask(url), { fits: ({ text }) => text === 'in' })
  })

  test('websocket_tcp_converter joins a WebSocket with a plain service', async () => {
    await using echo = createServer(socket => socket.on('error', () => undefined).pipe(socket)).listen(
      0,
      '127.0.0.1',
    )
    await once(echo, 'listening')
    const { port } = echo.address() as AddressInfo
    const backend = await world.make('/backends/static', { address: `127.0.0.1:${port}` })
    const url = await route(backend.id, { websocket_tcp_converter: {} })
    assert.equal((await world.ask(url)).code, 'ERR_ADIT_3206')
    const address = `wss://127.0.0.1:${world.server.bound.https?.port}${url.slice(NAME.length)}`
    const options = { headers: { host: NAME }, servername: NAME, ca: world.ca }
    const socket = new WebSocket(address, options)
    await once(socket, 'open')
    socket.send(Buffer.from([1, 2, 3]))
    const [message, isBinary] = await once(socket, 'message')
    assert.deepEqual(message, Buffer.from([1, 2, 3]))
    assert.equal(isBinary, true)
    socket.close()
    await once(socket, 'close')
  })
})
