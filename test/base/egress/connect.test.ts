import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { suite, test } from 'node:test'
import { createServer as createSecureServer, TLSSocket } from 'node:tls'
import { createEgress } from '#base/egress-client.ts'
import { SettingError } from '#base/setting-values.ts'
import { settings } from '#base/settings.ts'
import { identity, loopback } from './support.ts'
import { listening } from '../../support/net.ts'

suite('an outgoing connection', () => {
  const upper = (socket: Socket): void => {
    let text = ''
    socket.on('data', (bytes: Buffer) => (text += bytes.toString()))
    socket.on('end', () => socket.end(text.toUpperCase()))
  }

  async function whole(socket: Socket): Promise<string> {
    let text = ''
    socket.on('data', (bytes: Buffer) => (text += bytes.toString()))
    await once(socket, 'end')
    return text
  }

  test('stays open for the response after its half-close', async () => {
    await using server = await listening(createServer({ allowHalfOpen: true }, upper))
    const socket = await createEgress({ allow: loopback }).connect({ host: '127.0.0.1', port: server.port })
    socket.end('hello')
    assert.equal(await whole(socket), 'HELLO')
  })

  test('accepts an IPv6 address in brackets', async () => {
    await using server = await listening(createServer({ allowHalfOpen: true }, upper), '::1')
    const socket = await createEgress({ allow: loopback }).connect({ host: '[::1]', port: server.port })
    socket.end('six')
    assert.equal(await whole(socket), 'SIX')
  })

  test('speaks TLS for the name that is to be checked', async () => {
    const own = await identity('DNS:inner.test')
    const secure = createSecureServer({ ...own, allowHalfOpen: true, ALPNProtocols: ['http/1.1'] }, upper)
    await using server = await listening(secure)
    const egress = createEgress({ allow: loopback, ca: [own.cert] })
    const target = { host: '127.0.0.1', port: server.port }
    const socket = await egress.connect({ ...target, tls: { serverName: 'inner.test', alpn: ['http/1.1'] } })
    assert.ok(socket instanceof TLSSocket)
    assert.equal(socket.alpnProtocol, 'http/1.1')
    socket.end('tls')
    assert.equal(await whole(socket), 'TLS')
    await assert.rejects(egress.connect({ ...target, tls: { serverName: 'outer.test' } }), {
      code: 'untrusted',
    })
    await assert.rejects(egress.connect({ ...target, tls: { serverName: '127.0.0.1' } }), {
      code: 'untrusted',
    })
  })

  test('is aborted after its timeout', async () => {
    await using server = await listening(createServer())
    const target = { host: '127.0.0.1', port: server.port, tls: { serverName: 'a.test' }, timeoutMs: 100 }
    await assert.rejects(createEgress({ allow: loopback }).connect(target), { code: 'timeout' })
  })

  test('to a private network is refused', () =>
    assert.rejects(createEgress({ allow: [] }).connect({ host: '127.0.0.1', port: 9 }), {
      code: 'forbidden',
    }))
})

suite('the setting egress_allow', () => {
  const { read } = settings.egress_allow

  test('is a list of networks', () => {
    assert.deepEqual(read('10.1.2.3/8, fd00::/8,'), [
      { address: '10.0.0.0', bits: 8, family: 'ipv4' },
      { address: 'fd00::', bits: 8, family: 'ipv6' },
    ])
    assert.deepEqual(read(''), [])
  })

  for (const text of ['10.0.0.0', 'all', '10.0.0.0/8;192.168.0.0/16', '10.0.0.0/33'])
    test(`is not ${text}`, () => assert.throws(() => read(text), SettingError))
})
