import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'

export interface Termination {
  readonly context: SecureContext
  /** In the order of preference; undefined: the visitor's wish is left unanswered. */
  readonly alpn: readonly string[] | undefined
  /** Whether the visitor needs a certificate of the context's authorities. */
  readonly clientCertificate: boolean
}

const HIGH_WATER_MARK = 65_536

/**
 * Ends TLS on a socket of which `peeked` was read before. The engine is fed with those bytes and then reads from the
 * system's socket itself, so that the connection runs as if nobody had looked. Rejects when the handshake fails.
 */
export function terminate(socket: Socket, peeked: Buffer, options: Termination): Promise<TLSSocket> {
  const { context, alpn, clientCertificate } = options
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>()
  if (socket.destroyed) {
    reject(new Error('The visitor left before the handshake.'))
    return promise
  }
  socket.unshift(peeked)
  const secured = new TLSSocket(socket, {
    isServer: true,
    secureContext: context,
    requestCert: clientCertificate,
    rejectUnauthorized: clientCertificate,
    ...(alpn && { ALPNProtocols: [...alpn] }),
    ...tuning,
  })
  const fail = (error?: Error): void => reject(error ?? new Error('The handshake failed.'))
  let failure: Error | undefined
  // The name is undocumented, but nothing depends on it: it only tells why.
  secured.on('_tlsError', (error: Error) => (failure ??= error))
  secured.on('error', (error: Error) => (failure ??= error))
  secured.on('close', () => fail(failure))
  secured.on('secure', () => {
    // Only `tls.Server` says so of its sockets; who reads this one must not wait for the handshake again.
    Object.assign(secured, { secureConnecting: false })
    if (!clientCertificate || isVerified(secured)) resolve(secured)
    else secured.destroy()
  })
  return promise
}

/** Passed on to the socket by the constructor, though its type does not say so. */
const tuning: object = { highWaterMark: HIGH_WATER_MARK }

interface Engine {
  verifyError?(): Error | null | undefined
}

/**
 * What `tls.Server` does for its own sockets. There is no public way to ask, so an engine that does not know the
 * question counts as a refusal. A resumed session can be without a certificate and yet free of errors.
 */
function isVerified(secured: TLSSocket): boolean {
  const { ssl } = secured as unknown as { readonly ssl?: Engine }
  if (typeof ssl?.verifyError !== 'function') return false
  return !ssl.verifyError() && secured.getPeerX509Certificate() !== undefined
}
