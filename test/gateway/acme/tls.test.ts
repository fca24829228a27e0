import assert from 'node:assert/strict'
import { hash, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:tls'
import { after, before, suite, test } from 'node:test'
import { acmeCertificate } from '#pki/acme-certificate.ts'
import { HOST, signIn, visit } from '../../agent/support.ts'
import { runOrThrow } from '../../support/openssh.ts'
import type { TestServer } from '../../support/server.ts'
import { portOf } from '../listeners/support.ts'
import { challenge, handshake, World } from './support.ts'
import { Folder } from '../../support/folder.ts'
import { closed } from '../../support/net.ts'

const ALPN = 'acme-tls/1'
const NO_PROTOCOL = { code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL' }

suite('a TLS-ALPN-01 challenge', () => {
  let world: World
  let server: TestServer
  before(async () => {
    world = await World.start()
    server = world.server
    await world.publish(challenge('tls-alpn-01', 'shop.example.com', 'token-1'))
  })
  after(() => world[Symbol.asyncDispose]())

  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    test(`is answered in the handshake, and the connection is then closed (${maxVersion})`, async () => {
      const socket = await handshake(server, {
        servername: 'shop.example.com',
        ALPNProtocols: [ALPN],
        maxVersion,
      })
      assert.equal(socket.alpnProtocol, ALPN)
      const certificate = socket.getPeerX509Certificate()
      assert.equal(certificate?.subjectAltName, 'DNS:shop.example.com')
      const digest = hash('sha256', 'token-1.thumbprint', 'hex')
      assert.ok(certificate?.raw.toString('hex').includes(digest))
      socket.write('GET / HTTP/1.1\r\nHost: shop.example.com\r\n\r\n')
      let said = 0
      socket.on('data', bytes => (said += bytes.length))
      await closed(socket.on('error', () => undefined))
      assert.equal(said, 0)
    })
  }

  test('is refused for a name without an order', async () => {
    for (const servername of ['other.example.com', 'sub.shop.example.com', 'shop.adit.localhost'])
      await assert.rejects(handshake(server, { servername, ALPNProtocols: [ALPN] }), NO_PROTOCOL)
    await assert.rejects(handshake(server, { ALPNProtocols: [ALPN] }), NO_PROTOCOL)
  })

  test('requires acme-tls/1 as the only ALPN protocol; others are served as clients', async () => {
    const servername = 'shop.example.com'
    for (const ALPNProtocols of [[ALPN, 'http/1.1'], ['h2', ALPN], ['http/1.1']]) {
      const socket = await handshake(server, { servername, ALPNProtocols })
      assert.ok(ALPNProtocols.includes(String(socket.alpnProtocol)))
      assert.notEqual(socket.alpnProtocol, ALPN)
      assert.notEqual(socket.getPeerX509Certificate()?.subjectAltName, 'DNS:shop.example.com')
      await once(socket.end().resume(), 'close')
    }
  })

  test('is refused when it has expired', async () => {
    const over = challenge('tls-alpn-01', 'late.example.com', 'over')
    await world.publish({ ...over, expires_at: new Date(Date.now() - 1000).toISOString() })
    const asked = handshake(server, { servername: 'late.example.com', ALPNProtocols: [ALPN] })
    await assert.rejects(asked, NO_PROTOCOL)
  })

  test('is answered with the newest of several for a name', async () => {
    await world.publish(challenge('tls-alpn-01', 'twice.example.com', 'first'))
    await world.publish(challenge('tls-alpn-01', 'twice.example.com', 'second'))
    const socket = await handshake(server, { servername: 'twice.example.com', ALPNProtocols: [ALPN] })
    const shown = socket.getPeerX509Certificate()?.raw.toString('hex')
    assert.ok(shown?.includes(hash('sha256', 'second.thumbprint', 'hex')))
    await once(socket.resume(), 'close')
  })

  test('is passed through to a service that terminates TLS itself', async () => {
    const { certificatePem, privateKeyPem } = await acmeCertificate('own.adit.localhost', 'theirs')
    const own = { cert: certificatePem, key: privateKeyPem.reveal(), ALPNProtocols: [ALPN] }
    const service = createServer(own, socket => socket.end())
    await once(service.listen(0, HOST), 'listening')
    await using agent = await signIn(server)
    await agent.listen({ url: 'tls://own.adit.localhost', forwardTo: portOf(service) })
    const socket = await handshake(server, { servername: 'own.adit.localhost', ALPNProtocols: [ALPN] })
    assert.equal(socket.getPeerX509Certificate()?.subjectAltName, 'DNS:own.adit.localhost')
    await once(socket.resume(), 'close')
    service.close()
  })

  test('does not affect the server', async () => {
    const page = await visit(`https://unknown.adit.localhost:${server.bound.https?.port}/`, {
      rejectUnauthorized: false,
    } as object)
    assert.equal(page.status, 404)
  })
})

test('the challenge certificate is as RFC 8737 requires', async () => {
  const { certificatePem } = await acmeCertificate('shop.example.com', 'token.thumbprint')
  using folder = new Folder()
  await folder.write('proof.pem', certificatePem)
  const text = await runOrThrow('openssl', 'x509', '-in', folder.file('proof.pem'), '-noout', '-text')
  assert.match(text, /1\.3\.6\.1\.5\.5\.7\.1\.31: critical/)
  assert.match(text, /DNS:shop\.example\.com\n/)
  const { raw } = new X509Certificate(certificatePem)
  // The extension, TRUE, and the digest as an octet string within an octet string.
  const expected = `06082b0601050507011f0101ff04220420${hash('sha256', 'token.thumbprint', 'hex')}`
  assert.ok(raw.toString('hex').includes(expected))
})
