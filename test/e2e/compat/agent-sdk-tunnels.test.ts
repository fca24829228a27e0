import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createServer as createHttpServer } from 'node:http'
import { after, before, suite, test } from 'node:test'
import { createServer as createTlsServer } from 'node:tls'
import { authority, issueCertificate } from '../../tls/test-certificates.ts'
import { issue, type Identity } from '../../support/openssl.ts'
import { accessTo, Sdk } from './agent-sdk/sdk.ts'
import { connectTls, tcpExchange } from './agent-sdk/visits.ts'
import { openWorld, type World } from './agent-sdk/world.ts'
import { until } from '../../support/until.ts'
import { Folder } from '../../support/folder.ts'
import { listening } from '../../support/net.ts'

/** A service that echoes what it received once the client has half-closed. */
const repeating = () =>
  createServer({ allowHalfOpen: true }, socket => {
    let got = ''
    socket.setEncoding('latin1').on('data', text => (got += text))
    socket.on('end', () => socket.end(`you said ${got}`, 'latin1'))
  })

/** One word there and one back, on a connection that stays open. */
async function exchange(url: string, ca: string): Promise<string> {
  const socket = await connectTls(url, ca)
  socket.write('hello')
  const [answer] = await once(socket, 'data')
  socket.destroy()
  return String(answer)
}

suite('the published SDK @ngrok/ngrok: TCP, TLS and labelled tunnels', () => {
  let world: World
  let folder: Folder
  before(async () => {
    world = await openWorld()
    folder = new Folder()
  })
  after(() => world[Symbol.asyncDispose]())

  const identityFor = (name: string): Promise<Identity> =>
    issue(folder, { name, extensions: [`subjectAltName=DNS:${name}`] })

  test('a TCP endpoint on a port of our choice', async () => {
    await using service = await listening(repeating())
    const { url, proto } = await world.sdk.forward({ addr: service.port, proto: 'tcp' })
    assert.match(url, /^tcp:\/\/1\.tcp\.adit\.localhost:\d+$/)
    assert.equal(proto, 'tcp')
    assert.equal(await tcpExchange(url, 'hello'), 'you said hello')
  })

  test('a TCP endpoint on a reserved address', async () => {
    await using service = await listening(repeating())
    const { body } = await world.server.api.post('/reserved_addrs', { description: 'for the SDK' })
    const options = { addr: service.port, proto: 'tcp', remote_addr: body.addr }
    const listener = await world.sdk.forward(options)
    assert.equal(listener.url, `tcp://${body.addr}`)
    assert.equal(await tcpExchange(listener.url, 'hello'), 'you said hello')
    const { body: endpoints } = await world.server.api.get('/endpoints')
    const endpoint = endpoints.endpoints.find(
      (each: { tunnel: { id: string } }) => each.tunnel?.id === listener.id,
    )
    assert.equal(endpoint.tcp_addr.id, body.id)
  })

  test('a TCP endpoint with proxy_proto and ip_restriction', async () => {
    await using service = await listening(repeating())
    const open = await world.sdk.forward({ addr: service.port, proto: 'tcp', proxy_proto: '1' })
    assert.match(
      await tcpExchange(open.url, 'hello'),
      /^you said PROXY TCP4 127\.0\.0\.1 127\.0\.0\.1 \d+ \d+\r\nhello$/,
    )
    const denied = { addr: service.port, proto: 'tcp', ip_restriction_deny_cidrs: ['127.0.0.0/8'] }
    const closed = await world.sdk.forward(denied)
    assert.equal(await tcpExchange(closed.url, 'hello').catch(() => ''), '')
  })

  test('a TLS endpoint that is passed through to the service', async () => {
    const identity = await identityFor('through.adit.localhost')
    const server = createTlsServer({ cert: identity.certificate, key: identity.key }, socket => {
      socket.on('error', () => undefined).on('data', text => socket.write(`you said ${text.toString()}`))
    })
    await using service = await listening(server)
    const options = { addr: service.port, proto: 'tls', domain: 'through.adit.localhost' }
    const { url, proto } = await world.sdk.forward(options)
    assert.equal(proto, 'tls')
    assert.equal(await exchange(url, identity.certificate), 'you said hello')
  })

  test('a TLS endpoint that is terminated at the gateway, with a certificate of the application', async () => {
    const identity = await identityFor('ends.adit.localhost')
    await using service = await listening(
      createServer(socket => {
        socket
          .on('error', () => undefined)
          .on('data', text => socket.write(`in the clear ${text.toString()}`))
      }),
    )
    const { certificate: crt, key } = identity
    const options = { addr: service.port, proto: 'tls', domain: 'ends.adit.localhost', crt, key }
    const { url } = await world.sdk.forward(options)
    assert.equal(await exchange(url, crt), 'in the clear hello')
  })

  test('a TLS endpoint that requires client certificates', async () => {
    const root = await authority()
    const { chain, keyPem } = await issueCertificate({ name: 'Ann', issuer: root })
    const { certificate: crt, key } = await identityFor('asks.adit.localhost')
    await using service = await listening(repeating())
    const ends = { addr: service.port, proto: 'tls', domain: 'asks.adit.localhost', crt, key }
    const { url } = await world.sdk.forward({ ...ends, mutual_tls_cas: [root.pem] })
    const said = async (identity: object): Promise<string> => {
      const socket = await connectTls(url, crt, identity)
      socket.end('hello')
      return String(Buffer.concat(await socket.toArray()))
    }
    assert.equal(await said({ cert: chain, key: keyPem }), 'you said hello')
    // With TLS 1.3 a client is notified only after the handshake.
    assert.notEqual(await said({}).catch(() => ''), 'you said hello')
  })

  test('two processes with the same labels share the requests of an HTTPS edge', async () => {
    const { server, sdk, visit } = world
    const { api } = server
    const answering = (text: string) => createHttpServer((_, response) => response.end(text))
    await using one = await listening(answering('one'))
    await using two = await listening(answering('two'))
    await using other = new Sdk(accessTo(server))
    const domain = 'shop.adit.localhost'
    assert.equal((await api.post('/reserved_domains', { domain })).status, 201)
    const { body: group } = await api.post('/backends/tunnel_group', { labels: { app: 'shop' } })
    const { body: edge } = await api.post('/edges/https', { hostports: [`${domain}:443`] })
    const route = { match: '/', match_type: 'path_prefix', backend: { enabled: true, backend_id: group.id } }
    assert.equal((await api.post(`/edges/https/${edge.id}/routes`, route)).status, 201)
    const url = `https://${domain}:${server.bound.https?.port}`

    const labelled = { proto: 'labeled', labels: ['app:shop'], metadata: 'a label' }
    const first = await sdk.forward({ ...labelled, addr: one.port })
    assert.deepEqual(first.labels, { app: 'shop' })
    assert.equal((await visit(url)).text, 'one')
    const second = await other.forward({ ...labelled, addr: two.port })
    const { body } = await api.get(`/tunnels/${second.id}`)
    assert.deepEqual(body.labels, { app: 'shop' })
    assert.deepEqual(
      body.backends.map(({ id }: { id: string }) => id),
      [group.id],
    )

    const answers = await Promise.all(Array.from({ length: 40 }, async () => (await visit(url)).text))
    const ones = answers.filter(text => text === 'one').length
    assert.equal(ones + answers.filter(text => text === 'two').length, 40)
    assert.ok(ones >= 5 && ones <= 35, `one of them answered ${ones} of 40`)
    await other.end()
    await until(async () => (await visit(url)).text === 'one', { what: 'all goes to the one that is left' })
    const rest = await Promise.all(Array.from({ length: 10 }, async () => (await visit(url)).text))
    assert.deepEqual(new Set(rest), new Set(['one']))
  })
})
