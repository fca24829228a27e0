import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, get, type IncomingMessage } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect as dial, createServer as createTcpServer, type Socket } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { connect } from 'adit'
import { networks } from '#base/setting-values.ts'
import { encodeProxyProtocol } from '#gateway/backends/proxy-protocol.ts'
import { ProxiedSockets } from '#tunnel/proxied-sockets.ts'
import { closed, echo, listening } from '../support/net.ts'
import { testLog } from '../support/secrets.ts'
import { startServer, type Caller, type TestServer } from '../support/server.ts'
import { workerCounts } from '../support/workers.ts'

const CLIENT = '203.0.113.7'
const OTHER = '198.51.100.1'
/** An address of this machine that is not a trusted one. */
const ELSEWHERE = '127.0.0.2'

const destination = { ip: '192.0.2.1', port: 443 }
const headerFor = (ip: string, version: 1 | 2): Buffer =>
  encodeProxyProtocol(version, { ip, port: 40_000 }, destination)

/** All that a connection gets until it is closed. */
async function received(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined)
  await closed(socket)
  return Buffer.concat(chunks).toString('latin1')
}

/** Connects and sends these bytes. */
const sending = (port: number, bytes: Buffer | string, localAddress = '127.0.0.1'): Socket => {
  const socket = dial({ host: '127.0.0.1', port, localAddress })
  socket.write(bytes)
  return socket
}

/** A load balancer in front of a port, for a client with this address. */
const balancer = (port: number, ip: string, version: 1 | 2) =>
  listening(
    createTcpServer(client => {
      const server = sending(port, headerFor(ip, version))
      client.pipe(server).pipe(client)
      client.on('error', () => server.destroy())
      server.on('error', () => client.destroy())
    }),
  )

const requestTo = (host: string): string => `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`

/** Only the network of CLIENT may use these. */
async function allowClient(api: Caller, type: 'endpoints' | 'api', also: readonly string[]): Promise<void> {
  const policy = await api.post('/ip_policies', {})
  for (const cidr of ['203.0.113.0/24', '::1/128', ...also])
    await api.post('/ip_policy_rules', { ip_policy_id: policy.body.id, cidr, action: 'allow' })
  const restriction = await api.post('/ip_restrictions', {
    type,
    enforced: true,
    ip_policy_ids: [policy.body.id],
  })
  assert.equal(restriction.status, 201)
}

const portOf = (address: { readonly port: number } | undefined): number => address?.port ?? 0

/** A service that responds with the requested host. */
const startService = () =>
  listening(
    createServer((request, response) => response.end(`for ${String(request.headers['x-forwarded-for'])};`)),
  )

for (const workers of workerCounts)
  suite(`behind a load balancer with the PROXY protocol, with ${workers} gateway processes`, () => {
    const stack = new AsyncDisposableStack()
    let server: TestServer
    let name = ''
    let plain = ''
    let tcpPort = 0

    before(async () => {
      server = stack.use(await startServer({ workers, proxy_protocol: '127.0.0.1/32' }))
      const service = stack.use(await startService())
      const echoing = stack.use(await echo())
      const agents = stack.use(await balancer(portOf(server.bound.agent), CLIENT, 2))
      const agent = await connect({
        server: `127.0.0.1:${agents.port}`,
        authtoken: server.authtoken,
        ca: `${server.dataDir}/ca.pem`,
      })
      stack.defer(() => agent.close())
      const web = await agent.listen({ proto: 'https', forwardTo: service.port })
      name = new URL(web.url).hostname
      const open = await agent.listen({ proto: 'http', forwardTo: service.port })
      plain = new URL(open.url).hostname
      const tcp = await agent.listen({ proto: 'tcp', forwardTo: echoing.port })
      tcpPort = Number(new URL(tcp.url).port)
      await allowClient(server.api, 'endpoints', ['127.0.0.1/32'])
    })
    after(() => stack.disposeAsync())

    test('an agent has the address of the header', async () => {
      const { body } = await server.api.get('/tunnel_sessions')
      assert.equal(body.tunnel_sessions[0].ip, CLIENT)
    })

    for (const version of [1, 2] as const) {
      test(`HTTP clients have it, version ${version}`, async () => {
        const port = portOf(server.bound.http)
        const header = (ip: string) => Buffer.concat([headerFor(ip, version), Buffer.from(requestTo(plain))])
        assert.match(await received(sending(port, header(CLIENT))), /^HTTP\/1.1 200 [^]*for 203\.0\.113\.7;$/)
        assert.match(await received(sending(port, header(OTHER))), /^HTTP\/1.1 403 /)
      })

      test(`HTTPS clients have it, version ${version}`, async () => {
        for (const [ip, expected] of [
          [CLIENT, /200 [^]*for 203\.0\.113\.7;/],
          [OTHER, /^HTTP\/1.1 403 /],
        ] as const) {
          const socket = sending(portOf(server.bound.https), headerFor(ip, version))
          const secured = connectTls({
            socket,
            servername: name,
            ca: readFileSync(`${server.dataDir}/ca.pem`),
          })
          secured.write(requestTo(name))
          assert.match(await received(secured), expected)
        }
      })

      test(`TCP clients have it, version ${version}`, async () => {
        const echoed = sending(tcpPort, Buffer.concat([headerFor(CLIENT, version), Buffer.from('hello')]))
        const [bytes] = (await once(echoed, 'data')) as [Buffer]
        assert.equal(bytes.toString(), 'hello')
        echoed.destroy()
        const denied = sending(tcpPort, Buffer.concat([headerFor(OTHER, version), Buffer.from('hello')]))
        assert.equal(await received(denied), '')
      })

      test(`ssh clients are served, version ${version}`, async () => {
        const socket = sending(portOf(server.bound.ssh), headerFor(CLIENT, version))
        const [bytes] = (await once(socket, 'data')) as [Buffer]
        assert.match(bytes.toString(), /^SSH-2\.0-/)
        socket.destroy()
      })
    }

    test('a header from elsewhere, and a connection without one, are rejected at every listener', async () => {
      const { http, https, agent, ssh } = server.bound
      for (const port of [http, https, agent, ssh].map(portOf).concat(tcpPort)) {
        const header = Buffer.concat([headerFor(CLIENT, 1), Buffer.from(requestTo(name))])
        assert.equal(
          await received(sending(port, header, ELSEWHERE)),
          '',
          `port ${port}, header from elsewhere`,
        )
        assert.equal(await received(sending(port, requestTo(name))), '', `port ${port}, no header`)
        const forged = 'PROXY TCP4 203.0.113.7 x 1 2\r\n'
        assert.equal(await received(sending(port, forged)), '', `port ${port}, invalid header`)
      }
    })

    test('a second header is data of the client', async () => {
      const twice = Buffer.concat([headerFor(OTHER, 1), headerFor(CLIENT, 1), Buffer.from(requestTo(name))])
      assert.match(await received(sending(portOf(server.bound.http), twice)), /^HTTP\/1.1 400 /)
    })
  })

test('a connection that sends no PROXY header is closed in time', async () => {
  const settings = {
    proxy_protocol: networks('127.0.0.1/32'),
    proxy_protocol_listeners: ['tcp'] as const,
  }
  const proxied = new ProxiedSockets({ settings, listener: 'tcp', log: testLog(), deadlineMs: 20 })
  let accepted = 0
  await using server = await listening(
    createTcpServer(socket => proxied.receive(socket, () => void accepted++)),
  )
  assert.equal(await received(sending(server.port, 'PROXY TCP4 ')), '')
  assert.equal(accepted, 0)
})

interface Visit {
  readonly headers?: Record<string, string>
  readonly localAddress?: string
}

async function visit(port: number, host: string, { headers = {}, localAddress }: Visit): Promise<string> {
  const request = get({
    host: '127.0.0.1',
    port,
    headers: { host, ...headers },
    agent: false,
    ...(localAddress !== undefined && { localAddress }),
  })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = `${response.statusCode} `
  for await (const part of response.setEncoding('utf8')) text += String(part)
  return text
}

for (const workers of workerCounts)
  suite(`behind a trusted reverse proxy, with ${workers} gateway processes`, () => {
    const stack = new AsyncDisposableStack()
    let server: TestServer
    let name = ''
    let plain = ''

    before(async () => {
      server = stack.use(await startServer({ workers, trusted_proxies: '127.0.0.1/32' }))
      const service = stack.use(await startService())
      const agent = await connect({
        server: `127.0.0.1:${portOf(server.bound.agent)}`,
        authtoken: server.authtoken,
        ca: `${server.dataDir}/ca.pem`,
      })
      stack.defer(() => agent.close())
      const web = await agent.listen({ proto: 'https', forwardTo: service.port })
      name = new URL(web.url).hostname
      const open = await agent.listen({ proto: 'http', forwardTo: service.port })
      plain = new URL(open.url).hostname
      await allowClient(server.api, 'endpoints', [`${ELSEWHERE}/32`])
      await allowClient(server.api, 'api', ['127.0.0.1/32'])
    })
    after(() => stack.disposeAsync())

    const through = (chain: string) => ({ headers: { 'x-forwarded-for': chain } })

    test('HTTP requests have the address that the proxy names', async () => {
      const port = portOf(server.bound.http)
      assert.equal(await visit(port, plain, through(CLIENT)), '200 for 203.0.113.7;')
      assert.equal(await visit(port, plain, through(`${OTHER}, ${CLIENT}`)), '200 for 203.0.113.7;')
      assert.match(await visit(port, plain, through(`${CLIENT}, ${OTHER}`)), /^403 /)
      assert.match(await visit(port, plain, { headers: { forwarded: `for=${CLIENT}` } }), /^403 /)
    })

    test('clients that connect directly cannot name another address', async () => {
      const direct = { ...through(CLIENT), localAddress: ELSEWHERE }
      assert.equal(await visit(portOf(server.bound.http), plain, direct), `200 for ${ELSEWHERE};`)
    })

    test('HTTP/2 requests of one connection have their own addresses', async () => {
      const session = connectHttp2(`https://${name}`, {
        createConnection: () =>
          connectTls({
            host: '127.0.0.1',
            port: portOf(server.bound.https),
            ca: readFileSync(`${server.dataDir}/ca.pem`),
            servername: name,
            ALPNProtocols: ['h2'],
          }),
      })
      const statusFor = async (chain: string): Promise<unknown> => {
        const stream = session.request({ ':path': '/', ':authority': name, 'x-forwarded-for': chain })
        const [headers] = (await once(stream, 'response')) as [Record<string, unknown>]
        stream.resume()
        return headers[':status']
      }
      assert.equal(await statusFor(CLIENT), 200)
      assert.equal(await statusFor(OTHER), 403)
      session.close()
    })

    test('the API applies its restriction to the client of the proxy', async () => {
      const { port } = new URL(server.api.url)
      const as = { authorization: `Bearer ${server.api.token}` }
      const call = (chain: string, more: Visit = {}) =>
        visit(Number(port), 'localhost', { headers: { ...as, 'x-forwarded-for': chain }, ...more })
      const sentBy = { headers: { ...as, 'x-forwarded-for': CLIENT }, localAddress: ELSEWHERE }
      assert.match(await call(CLIENT), /^200 /)
      assert.match(await call(OTHER), /^403 /)
      assert.match(await visit(Number(port), 'localhost', sentBy), /^403 /)
    })
  })
