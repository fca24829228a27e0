import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttp2Server } from 'node:http2'
import { createServer as createHttpServer, Agent } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { createServer } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import { issue } from '../../support/openssl.ts'
import { secretText } from '../../support/secrets.ts'
import { serving } from './agent-sdk/sdk.ts'
import { lookup } from './agent-sdk/visits.ts'
import { echoOf, openWorld, type World } from './agent-sdk/world.ts'
import { Folder } from '../../support/folder.ts'
import { listening } from '../../support/net.ts'
import { freePort } from '../../support/free-ports.ts'

const DELAYED_MS = 40

const basic = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` })

/** A service that returns every byte it got up to the end of the request head. */
const repeating = () =>
  createServer(socket => {
    let got = ''
    socket.setEncoding('latin1').on('data', text => {
      got += text.toString()
      if (!/ HTTP\/1\.1\r\n.*\r\n\r\n/s.test(got)) return
      socket.end(
        `HTTP/1.1 200 OK\r\ncontent-length: ${got.length}\r\nconnection: close\r\n\r\n${got}`,
        'latin1',
      )
    })
  })

suite('the published SDK @ngrok/ngrok: HTTP endpoints', () => {
  let world: World
  before(async () => {
    world = await openWorld()
  })
  after(() => world[Symbol.asyncDispose]())

  test('forward() with a name of our choice', async () => {
    const { sdk, port, visit } = world
    const listener = await sdk.forward({ addr: port })
    assert.match(listener.url, /^https:\/\/[a-z0-9]{10}\.adit\.localhost:\d+$/)
    assert.equal(listener.proto, 'https')
    const seen = await visit(`${listener.url}/a?b=c`, { method: 'POST', body: 'ping' })
    assert.equal(seen.status, 200)
    const { hostname, host } = new URL(listener.url)
    assert.partialDeepStrictEqual(echoOf(seen), {
      method: 'POST',
      url: '/a?b=c',
      version: '1.1',
      body: 'ping',
      headers: {
        host,
        'x-forwarded-for': '127.0.0.1',
        'x-forwarded-proto': 'https',
        'x-forwarded-host': host,
      },
    })
    assert.ok(hostname.endsWith('.adit.localhost'))
  })

  test('forward() with a chosen domain, with metadata and forwards_to', async () => {
    const { sdk, port, visit } = world
    const reported = { metadata: '{"a":1}', forwards_to: 'my service' }
    const listener = await sdk.forward({
      addr: `localhost:${port}`,
      domain: 'chosen.adit.localhost',
      ...reported,
    })
    assert.equal(new URL(listener.url).hostname, 'chosen.adit.localhost')
    assert.deepEqual([listener.metadata, listener.forwardsTo], ['{"a":1}', 'my service'])
    assert.equal((await visit(listener.url)).status, 200)
    const { body } = await world.server.api.get(`/tunnels/${listener.id}`)
    assert.deepEqual([body.metadata, body.forwards_to], ['{"a":1}', 'my service'])
  })

  test('forward() with the scheme http', async () => {
    const { sdk, port, visit, server } = world
    const listener = await sdk.forward({ addr: port, schemes: 'http' })
    assert.equal(new URL(listener.url).protocol, 'http:')
    assert.equal(Number(new URL(listener.url).port), server.bound.http?.port)
    assert.equal(echoOf(await visit(listener.url)).headers['x-forwarded-proto'], 'http')
  })

  test('basic_auth', async () => {
    const { sdk, port, visit } = world
    const login = (user: string) => `${user}:${secretText(`password of ${user}`)}`
    const { url } = await sdk.forward({ addr: port, basic_auth: [login('ann'), login('bob')] })
    assert.equal((await visit(url)).status, 401)
    assert.equal((await visit(url, { headers: basic('ann:wrong') })).status, 401)
    assert.equal((await visit(url, { headers: basic(login('ann')) })).status, 200)
    assert.equal((await visit(url, { headers: basic(login('bob')) })).status, 200)
  })

  test('ip_restriction: allowed and denied addresses', async () => {
    const { sdk, port, visit } = world
    const status = async (options: object) =>
      (await visit((await sdk.forward({ addr: port, ...options })).url)).status
    assert.equal(await status({ ip_restriction_allow_cidrs: ['127.0.0.0/8'] }), 200)
    assert.equal(await status({ ip_restriction_allow_cidrs: ['203.0.113.0/24'] }), 403)
    assert.equal(await status({ ip_restriction_deny_cidrs: ['127.0.0.1/32'] }), 403)
  })

  test('headers added to and removed from requests and responses', async () => {
    const { sdk, port, visit } = world
    const { url } = await sdk.forward({
      addr: port,
      request_header_add: ['x-added: yes'],
      request_header_remove: ['x-unwanted'],
      response_header_add: ['x-answer: 1'],
      response_header_remove: ['x-service'],
    })
    const seen = await visit(url, { headers: { 'x-unwanted': 'here', 'x-kept': 'here' } })
    const { headers } = echoOf(seen)
    assert.deepEqual(
      [headers['x-added'], headers['x-unwanted'], headers['x-kept']],
      ['yes', undefined, 'here'],
    )
    assert.deepEqual([seen.headers['x-answer'], seen.headers['x-service']], ['1', undefined])
  })

  test('proxy_proto 1 and 2', async () => {
    const { sdk, visit } = world
    await using service = await listening(repeating())
    const one = await sdk.forward({ addr: service.port, proxy_proto: '1' })
    const { port } = new URL(one.url)
    assert.match(
      (await visit(one.url)).text,
      new RegExp(`^PROXY TCP4 127\\.0\\.0\\.1 127\\.0\\.0\\.1 \\d+ ${port}\r\nGET / `),
    )
    const two = await sdk.forward({ addr: service.port, proxy_proto: '2' })
    const { body } = await visit(two.url)
    assert.equal(body.subarray(0, 12).toString('latin1'), '\r\n\r\n\0\r\nQUIT\n')
    // Version 2, a connection; TCP over IPv4; 12 bytes of addresses; 127.0.0.1 twice.
    assert.equal(body.subarray(12, 24).toString('hex'), '2111000c7f0000017f000001')
    assert.equal(body.readUInt16BE(26), Number(port))
    assert.match(body.subarray(28).toString(), /^GET \/ HTTP/)
  })

  test('app_protocol http2: a service that speaks HTTP/2 without TLS', async () => {
    const { sdk, visit } = world
    const server = createHttp2Server((request, response) =>
      response.end(`${request.httpVersion} ${request.url}`),
    )
    await using service = await listening(server)
    const { url } = await sdk.forward({ addr: service.port, app_protocol: 'http2' })
    assert.equal((await visit(`${url}/x`)).text, '2.0 /x')
  })

  test('SessionBuilder and httpEndpoint().listenAndForward()', async () => {
    const { sdk, port, visit } = world
    const session = await sdk.connect(['metadata', 'a session'])
    const to = `http://127.0.0.1:${port}/`
    const endpoint = ['httpEndpoint'] as const
    const listener = await sdk.call(
      session,
      endpoint,
      ['domain', 'built.adit.localhost'],
      ['listenAndForward', to],
    )
    assert.equal(listener.forwardsTo, to)
    assert.equal((await visit(listener.url)).status, 200)
  })

  test('listenAndServe() with a server of the application', async () => {
    const { sdk, visit } = world
    const session = await sdk.connect()
    const listener = await sdk.call(session, ['httpEndpoint'], ['listenAndServe', serving('served')])
    assert.equal((await visit(`${listener.url}/here`)).text, 'served /here')
  })

  test('a service with TLS: its certificate is checked unless verify_upstream_tls is off', async () => {
    const { sdk, visit } = world
    const folder = new Folder()
    const identity = await issue(folder, { name: 'service', extensions: ['subjectAltName=DNS:localhost'] })
    const server = createHttpsServer({ cert: identity.certificate, key: identity.key }, (_, response) =>
      response.end('secret'),
    )
    await using service = await listening(server)
    const addr = `https://localhost:${service.port}`
    const checked = await visit((await sdk.forward({ addr })).url)
    assert.deepEqual([checked.status, checked.headers['ngrok-error-code']], [502, 'ERR_NGROK_8012'])
    const { url } = await sdk.forward({ addr, verify_upstream_tls: false })
    assert.equal((await visit(url)).text, 'secret')
  })

  test('a service that does not run answers 502, with a page', async () => {
    const { sdk, visit } = world
    const seen = await visit((await sdk.forward({ addr: await freePort() })).url)
    assert.deepEqual([seen.status, seen.headers['ngrok-error-code']], [502, 'ERR_NGROK_8012'])
    assert.match(seen.text, /The agent cannot reach the service behind /)
  })

  test('WebSocket', async () => {
    const { sdk, root } = world
    const server = createHttpServer()
    new WebSocketServer({ server }).on('connection', socket =>
      socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })),
    )
    await using service = await listening(server)
    const { url } = await sdk.forward({ addr: service.port })
    const socket = new WebSocket(url.replace('https', 'wss'), { ca: root, lookup })
    await once(socket, 'open')
    for (const message of ['hello', Buffer.alloc(300_000, 7)]) {
      socket.send(message)
      const [got, isBinary] = await once(socket, 'message')
      assert.deepEqual(isBinary ? got : String(got), message)
    }
    socket.close(4001, 'enough')
    const [code] = await once(socket, 'close')
    assert.equal(code, 4001)
  })

  test('sequential small requests take less than the 40 ms of a delayed acknowledgement', async () => {
    const { sdk, port, visit } = world
    const { url } = await sdk.forward({ addr: port, schemes: 'http' })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    let fastest = Number.POSITIVE_INFINITY
    // A delayed acknowledgement would slow down each of them; a busy machine does not.
    for (let count = 0; count < 200 && fastest >= DELAYED_MS; count++) {
      const start = performance.now()
      assert.equal((await visit(url, { agent })).status, 200)
      fastest = Math.min(fastest, performance.now() - start)
    }
    agent.destroy()
    assert.ok(fastest < DELAYED_MS, `the fastest took ${fastest} ms`)
  })
})
