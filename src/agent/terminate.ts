import type { Duplex } from 'node:stream'
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls'

const HANDSHAKE_MS = 10_000

/** TLS termination in this agent. */
export type Terminator = Readonly<TlsOptions>

/** Terminates a client's TLS here. */
export async function endTls(stream: Duplex, terminator: Terminator): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>()
  // A server that never listens: in Node only a server rejects clients with an invalid certificate.
  const server = createServer({ ...terminator, handshakeTimeout: HANDSHAKE_MS })
  server.once('secureConnection', resolve)
  server.once('tlsClientError', reject)
  stream.on('error', reject)
  stream.once('close', () => reject(new Error('The client disconnected.')))
  server.emit('connection', stream)
  const socket = await promise
  socket.on('error', () => undefined)
  return socket
}
