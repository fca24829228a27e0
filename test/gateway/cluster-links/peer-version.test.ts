import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { before, suite, test } from 'node:test'
import { connect, createServer } from 'node:tls'
import { createLog } from '#base/log.ts'
import { TlsTransport } from '#gateway/cluster-links/tls-transport.ts'
import { LocalAuthority, makeLocalRoot } from '#pki/local-authority.ts'
import { freePort } from '../../support/free-ports.ts'

const HOST = '127.0.0.1'

suite('versions of the peer protocol', () => {
  let authority: LocalAuthority
  before(async () => {
    authority = await LocalAuthority.open(await makeLocalRoot('test'))
  })

  const transport = async (node: string, other: number) => {
    const lines: string[] = []
    const port = await freePort()
    const created = await TlsTransport.create({
      node,
      authority,
      address: { host: HOST, port },
      addressOf: () => ({ host: HOST, port: other }),
      log: createLog('warn', { write: line => void lines.push(line) }),
    })
    return { transport: created, port, lines }
  }

  /** The certificate of a node, as another version has it too. */
  const identity = async (node: string) => {
    const leaf = await authority.issue([`${node}.node.adit.internal`], { days: 7, isClient: true })
    return { cert: leaf.certificatePem, key: leaf.privateKeyPem.reveal(), ca: authority.rootPem }
  }

  for (const protocols of [['adit-peer/9'], undefined])
    test(`a node that speaks ${protocols?.join() ?? 'none that it names'} is not used, and the log has the reason`, async () => {
      const server = createServer({
        ...(await identity('b')),
        ...(protocols && { ALPNProtocols: protocols }),
      })
      server.on('tlsClientError', () => undefined).listen(0, HOST)
      await once(server, 'listening')
      const { transport: ours, lines } = await transport('a', (server.address() as AddressInfo).port)
      for (let tries = 0; tries < 2; tries++)
        await assert.rejects(ours.connect('b'), /The node b uses another version of the peer protocol\./)
      assert.equal(lines.length, 1, 'it is logged once')
      assert.match(lines.join(), /"node":"b".*another version of the peer protocol/)
      server.close()
    })

  for (const protocols of [['adit-peer/9'], undefined])
    test(`a node that offers ${protocols?.join() ?? 'none'} gets no link`, async () => {
      const { transport: ours, port } = await transport('b', 0)
      let accepted = 0
      await ours.listen(() => accepted++)
      const socket = connect({
        ...(await identity('a')),
        host: HOST,
        port,
        servername: 'b.node.adit.internal',
        ...(protocols && { ALPNProtocols: protocols }),
      })
      const closed = Promise.withResolvers<void>()
      // Some are rejected with an alert, which is an error here.
      socket.on('error', () => undefined).on('close', () => closed.resolve())
      await closed.promise
      assert.equal(accepted, 0)
      await ours.close()
    })

  test('of several that a later version offers, the one that this version knows is used', async () => {
    const { transport: ours, port } = await transport('b', 0)
    const accepted = Promise.withResolvers<void>()
    await ours.listen(socket => {
      accepted.resolve()
      socket.destroy()
    })
    const socket = connect({
      ...(await identity('a')),
      host: HOST,
      port,
      servername: 'b.node.adit.internal',
      ALPNProtocols: ['adit-peer/9', 'adit-peer/1'],
    })
    socket.on('error', () => undefined)
    await accepted.promise
    assert.equal(socket.alpnProtocol, 'adit-peer/1')
    await ours.close()
  })

  test('a node that offers AES-256 first gets AES-128', async () => {
    const { transport: ours, port } = await transport('b', 0)
    await ours.listen(socket => void socket.destroy())
    const socket = connect({
      ...(await identity('a')),
      host: HOST,
      port,
      servername: 'b.node.adit.internal',
      ciphers: 'TLS_AES_256_GCM_SHA384:TLS_AES_128_GCM_SHA256',
      ALPNProtocols: ['adit-peer/1'],
    })
    socket.on('error', () => undefined)
    await once(socket, 'secureConnect')
    assert.equal(socket.getCipher().name, 'TLS_AES_128_GCM_SHA256')
    await ours.close()
  })
})
