import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, Server } from 'node:net'
import { type Duplex, duplexPair } from 'node:stream'
import { suite, test } from 'node:test'
import { connect as tlsConnect, Server as TlsServer } from 'node:tls'
import { selfSignedCertificate } from '#pki/self-signed.ts'
import { Session } from '#tunnel/session.ts'
import { accepting, exchange } from './exchange.ts'

const MIB = 1_048_576

type Ends = [near: Duplex, far: Duplex]

async function loopback(server: Server, dial: (port: number) => Duplex): Promise<Ends> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const far = dial((server.address() as AddressInfo).port)
  const [near] = (await once(server, server instanceof TlsServer ? 'secureConnection' : 'connection')) as [
    Duplex,
  ]
  server.close()
  return [near, far]
}

async function overTls(): Promise<Ends> {
  const { certificatePem, privateKeyPem } = await selfSignedCertificate({
    commonName: 'localhost',
    organization: 'test',
    years: 1,
  })
  return loopback(new TlsServer({ cert: certificatePem, key: privateKeyPem.reveal() }), port =>
    tlsConnect({ port, host: '127.0.0.1', ca: certificatePem, checkServerIdentity: () => undefined }),
  )
}

suite('a session', () => {
  const links = {
    'a pair of streams': async (): Promise<Ends> => duplexPair(),
    'a loopback socket': async () => loopback(new Server(), port => connect(port, '127.0.0.1')),
    'a TLS socket': overTls,
  }
  for (const [name, link] of Object.entries(links))
    test(`carries large transfers over many streams of ${name} unchanged`, async () => {
      const [near, far] = await link()
      const { accept, next } = accepting()
      const gateway = new Session(near, { role: 'server', growTo: MIB })
      const agent = new Session(far, { role: 'client', accept })
      await exchange(gateway, next, [40, 2 * MIB])
      assert.deepEqual([gateway.streams, agent.streams, gateway.unread, agent.unread], [0, 0, 0, 0])
      agent.close()
      assert.equal((await gateway.closed).code, 'remote_gone_away')
    })
})
