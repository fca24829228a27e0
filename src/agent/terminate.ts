import type { Duplex } from 'node:stream'
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls'

const HANDSHAKE_MS = 10_000

/** TLS termination in this agent. */
export type Terminator = Readonly<TlsOptions>

/** The handshake failed between the client and this agent; the service has no part in it. */
export class ClientTlsError extends Error {
  constructor({ code, message }: NodeJS.ErrnoException) {
    const reason = code ?? message
    const advice = /ALERT_(BAD_CERTIFICATE|CERTIFICATE_|UNKNOWN_CA)/.test(reason)
      ? '. It does not accept the certificate of the tunnel: check its dates, its names and its CA (--crt, --key)'
      : ''
    super(`A client failed in the TLS handshake with this agent: ${reason}${advice}`)
  }
}

/** Terminates a client's TLS here; rejects with a ClientTlsError. */
export async function endTls(stream: Duplex, terminator: Terminator): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>()
  // A server that never listens: in Node only a server rejects clients with an invalid certificate.
  const server = createServer({ ...terminator, handshakeTimeout: HANDSHAKE_MS })
  server.once('secureConnection', resolve)
  server.once('tlsClientError', reject)
  stream.on('error', reject)
  stream.once('close', () => reject(new Error('The client disconnected.')))
  server.emit('connection', stream)
  const socket = await promise.catch((error: unknown) => {
    throw new ClientTlsError(error as Error)
  })
  socket.on('error', () => undefined)
  return socket
}
