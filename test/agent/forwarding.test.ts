import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, rmSync } from 'node:fs'
import { createServer as createHttp } from 'node:http'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, suite, test } from 'node:test'
import { WebSocket, WebSocketServer } from 'ws'
import type { ConnectionEvent, ConnectionInfo, RequestEvent } from '#agent/index.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { secretText } from '../support/secrets.ts'
import { caOf, dial, HOST, readAll, signIn, tcp, visit, web } from './support.ts'
import { newFolder } from '../support/folder.ts'

const echo = (socket: Socket): void => void socket.pipe(socket)

suite('an agent forwards', () => {
  let server: TestServer
  let ca: string
  before(async () => {
    server = await startServer()
    ca = readFileSync(caOf(server), 'utf8')
  })
  after(() => server[Symbol.asyncDispose]())

  test('HTTP, over http and over https', async () => {
    await using agent = await signIn(server)
    await using service = await web((request, response) => response.end(`hello ${request.url}`))
    const plain = await agent.listen({ proto: 'http', forwardTo: service.port })
    const secure = await agent.listen({ forwardTo: `${HOST}:${service.port}` })
    assert.equal((await visit(`${plain.url}/a`)).body, 'hello /a')
    assert.equal((await visit(`${secure.url}/b?c`, { ca })).body, 'hello /b?c')
    assert.equal(plain.forwardsTo, `http://localhost:${service.port}`)
    assert.equal(secure.forwardsTo, `http://${HOST}:${service.port}`)
    assert.match(plain.url, /^http:/)
    assert.match(secure.url, /^https:/)
    assert.deepEqual(agent.tunnels, new Set([plain, secure]))
  })

  test('the requested host name', async () => {
    await using agent = await signIn(server)
    await using service = await web((_, response) => response.end('here'))
    const { url } = await agent.listen({ proto: 'http', domain: 'my-app', forwardTo: service.port })
    assert.equal(new URL(url).hostname, 'my-app.adit.localhost')
    await assert.rejects(agent.listen({ proto: 'http', domain: 'my-app', forwardTo: 1 }), {
      name: 'AgentError',
      code: 'ERR_ADIT_334',
      permanent: false,
    })
  })

  test('TCP, with half-close in both directions', async () => {
    await using agent = await signIn(server)
    // Responds only after the client has half-closed, so that a lost half-close would block.
    await using service = await tcp(async socket => socket.end(`got ${await readAll(socket)}`))
    const { url } = await agent.listen({ proto: 'tcp', forwardTo: service.port })
    const socket = await dial(url)
    socket.end('all of it')
    assert.equal(String(await buffer(socket)), 'got all of it')
  })

  test('large transfers both ways at once, unchanged', async () => {
    await using agent = await signIn(server)
    await using service = await tcp(echo)
    const { url } = await agent.listen({ proto: 'tcp', forwardTo: service.port })
    const sent = randomBytes(24 * 1024 * 1024)
    const socket = await dial(url)
    const receiving = buffer(socket)
    socket.end(sent)
    const received = await receiving
    assert.ok(received.equals(sent))
  })

  test('a WebSocket', async () => {
    await using agent = await signIn(server)
    await using service = await web((_, response) => response.end())
    const sockets = new WebSocketServer({ server: service.server as ReturnType<typeof createHttp> })
    sockets.on('connection', socket =>
      socket.on('message', (text: Buffer) => socket.send(`echo ${text.toString()}`)),
    )
    const { url } = await agent.listen({ proto: 'http', forwardTo: service.port })
    const { host, port } = new URL(url)
    const socket = new WebSocket(`ws://${HOST}:${port}/`, { headers: { host } })
    await once(socket, 'open')
    socket.send('ping')
    const [answer] = (await once(socket, 'message')) as [Buffer]
    assert.equal(String(answer), 'echo ping')
    socket.terminate()
  })

  test('to a unix socket', async () => {
    const folder = newFolder()
    const path = join(folder, 'service.sock')
    const service = createServer({ allowHalfOpen: true }, echo).listen(path)
    await once(service, 'listening')
    await using agent = await signIn(server)
    const tunnel = await agent.listen({ proto: 'tcp', forwardTo: `unix:${path}` })
    const socket = await dial(tunnel.url)
    socket.end('through a file')
    assert.equal(String(await buffer(socket)), 'through a file')
    assert.equal(tunnel.forwardsTo, `unix:${path}`)
    service.close()
    rmSync(folder, { recursive: true })
  })

  test('to the program itself, without a port', async () => {
    const inner = createHttp((request, response) => response.end(`from ${request.socket.remoteAddress}`))
    const infos: ConnectionInfo[] = []
    await using agent = await signIn(server)
    const tunnel = await agent.listen({
      proto: 'http',
      onConnection: (stream, info) => {
        infos.push(info)
        inner.emit('connection', stream)
      },
    })
    assert.equal((await visit(tunnel.url)).body, `from ${HOST}`)
    assert.equal(infos[0]?.tunnel, tunnel)
    assert.equal(infos[0]?.proto, 'http')
    assert.match(infos[0]?.clientAddr ?? '', /^127\.0\.0\.1:\d+$/)
    assert.match(tunnel.forwardsTo, /^app:/)
  })

  test('and reports requests, if enabled', async () => {
    const connections: ConnectionEvent[] = []
    const requests: RequestEvent[] = []
    const closed = Promise.withResolvers<void>()
    await using agent = await signIn(server, {
      onRequest: event => requests.push(event),
      onConnection: event => {
        connections.push(event)
        if (event.kind === 'closed') closed.resolve()
      },
    })
    await using service = await web((request, response) => {
      response.statusCode = request.url === '/missing' ? 404 : 200
      response.end('x'.repeat(100))
    })
    const tunnel = await agent.listen({ proto: 'http', forwardTo: service.port })
    await visit(`${tunnel.url}/one`)
    await visit(`${tunnel.url}/missing`, { method: 'POST', body: 'y'.repeat(1000) })
    await tunnel.close()
    for (const socket of service.sockets) socket.destroy()
    await closed.promise
    assert.deepEqual(
      requests.map(({ method, path, status }) => [method, path, status]),
      [
        ['GET', '/one', 200],
        ['POST', '/missing', 404],
      ],
    )
    assert.ok(requests.every(event => event.tunnel === tunnel && event.durationMs >= 0))
    assert.equal(connections[0]?.kind, 'opened')
    const end = connections.find(({ kind }) => kind === 'closed')
    assert.ok(end !== undefined && end.bytesIn > 50 && end.bytesOut > 100, JSON.stringify(end?.bytesIn))
  })

  test('with basic auth and response headers', async () => {
    await using agent = await signIn(server)
    await using service = await web((request, response) =>
      response.end(`${request.headers.host} ${String(request.headers['x-by'])}`),
    )
    const { url } = await agent.listen({
      proto: 'http',
      forwardTo: service.port,
      basicAuth: [`me:${secretText('password')}`],
      hostHeader: 'inner.example',
      requestHeaders: { add: ['x-by:agent'] },
      responseHeaders: { add: ['x-out:yes'] },
    })
    assert.equal((await visit(url)).status, 401)
    const page = await visit(url, { auth: `me:${secretText('password')}` })
    assert.equal(page.body, 'inner.example agent')
    assert.equal(page.headers['x-out'], 'yes')
  })

  test('with the Host of the service, if configured', async () => {
    await using agent = await signIn(server)
    await using service = await web((request, response) => response.end(request.headers.host))
    const { url } = await agent.listen({ proto: 'http', forwardTo: service.port, hostHeader: 'rewrite' })
    assert.equal((await visit(url)).body, `localhost:${service.port}`)
  })

  test('a PROXY header in front of the bytes of a client', async () => {
    await using agent = await signIn(server)
    await using service = await tcp(echo)
    const { url } = await agent.listen({ proto: 'tcp', forwardTo: service.port, proxyProto: 1 })
    const socket = await dial(url)
    socket.end('body')
    assert.match(String(await buffer(socket)), /^PROXY TCP4 127\.0\.0\.1 127\.0\.0\.1 \d+ \d+\r\nbody$/)
  })

  test('only for allowed client addresses', async () => {
    await using agent = await signIn(server)
    await using service = await web((_, response) => response.end())
    const { url } = await agent.listen({ proto: 'http', forwardTo: service.port, denyCidrs: ['127.0.0.0/8'] })
    assert.equal((await visit(url)).status, 403)
  })

  test('until the tunnel is closed', async () => {
    await using agent = await signIn(server)
    await using service = await web((_, response) => response.end('there'))
    const tunnel = await agent.listen({ proto: 'http', forwardTo: service.port })
    const { url } = tunnel
    assert.equal((await visit(url)).status, 200)
    await tunnel.close()
    assert.equal(await tunnel.closed, undefined)
    assert.equal((await visit(url)).status, 404)
    assert.equal(agent.tunnels.size, 0)
  })
})
