import { once } from 'node:events'
import { type AddressInfo, connect, Server, type Socket } from 'node:net'
import { connect as tlsConnect, Server as TlsServer } from 'node:tls'
import { selfSignedCertificate } from '#pki/self-signed.ts'

/** Both ends of a connection over loopback; TLS ends have finished their handshake. */
export interface SocketPair {
  readonly accepted: Socket
  readonly outgoing: Socket
}

async function join(server: Server, dial: (port: number) => Socket): Promise<SocketPair> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const encrypted = server instanceof TlsServer
  const accepting = once(server, encrypted ? 'secureConnection' : 'connection')
  const outgoing = dial((server.address() as AddressInfo).port)
  const [[accepted]] = await Promise.all([
    accepting as Promise<[Socket]>,
    once(outgoing, encrypted ? 'secureConnect' : 'connect'),
  ])
  server.close()
  return { accepted, outgoing }
}

export const tcpPair = async (): Promise<SocketPair> =>
  join(new Server({ allowHalfOpen: true }), port => connect({ port, host: '127.0.0.1', allowHalfOpen: true }))

const certificate = selfSignedCertificate({ commonName: 'localhost', organization: 'test', years: 1 })

export async function tlsPair(): Promise<SocketPair> {
  const { certificatePem, privateKeyPem } = await certificate
  const server = new TlsServer({ cert: certificatePem, key: privateKeyPem.reveal(), allowHalfOpen: true })
  return join(server, port => {
    const checkServerIdentity = (): undefined => undefined
    const options = { port, host: '127.0.0.1', ca: certificatePem, checkServerIdentity, allowHalfOpen: true }
    return tlsConnect(options)
  })
}
