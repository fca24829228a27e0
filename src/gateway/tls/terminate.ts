import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'

export interface Termination {
  readonly context: SecureContext
  /** In the order of preference; undefined: the visitor's wish is left unanswered. */
  readonly alpn: readonly string[] | undefined
  /** Whether the visitor needs a certificate of the context's authorities. */
  readonly clientCertificate: boolean
  readonly now?: () => number
}

const HIGH_WATER_MARK = 65_536

/**
 * Ends TLS on a socket of which `peeked` was read before. The engine is fed with those bytes and then reads from the
 * system's socket itself, so that the connection runs as if nobody had looked. Rejects when the handshake fails.
 */
export function terminate(socket: Socket, peeked: Buffer, options: Termination): Promise<TLSSocket> {
  const { context, alpn, clientCertificate, now = Date.now } = options
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
  let failure: Error | undefined
  // The name is undocumented, but nothing depends on it: it only tells why.
  secured.on('_tlsError', (error: Error) => (failure ??= error))
  secured.on('error', (error: Error) => (failure ??= error))
  const fail = (): void => reject(failure ?? new Error('The handshake failed.'))
  secured.on('close', fail)
  // The sockets are half-open, so nothing else would end this one before its time is up.
  const leave = (): void => void secured.destroy(new Error('The visitor left during the handshake.'))
  secured.on('end', leave)
  secured.on('secure', () => {
    secured.off('end', leave)
    // Only `tls.Server` says so of its sockets; who reads this one must not wait for the handshake again.
    Object.assign(secured, { secureConnecting: false })
    const fault = clientCertificate ? faultOf(secured, now()) : undefined
    // Which certificate is wrong cannot be said in an alert: the library lets nobody send one.
    if (fault !== undefined) return void secured.destroy(new Error(fault))
    // Every connection closes one day, and an error that nobody sees would cost it a stack trace.
    secured.off('close', fail)
    resolve(secured)
  })
  return promise
}

/** Passed on to the socket by the constructor, though its type does not say so. */
const tuning: object = { highWaterMark: HIGH_WATER_MARK }

interface Engine {
  verifyError?(): Error | null | undefined
}

/**
 * Why the visitor has not proved who it is. This is what `tls.Server` asks for its own sockets; there is no public way,
 * so an engine that does not know the question counts as a refusal. A resumed session can be without a certificate and
 * yet free of errors, and its certificate may have run out since.
 */
function faultOf(secured: TLSSocket, now: number): string | undefined {
  const { ssl } = secured as unknown as { readonly ssl?: Engine }
  if (typeof ssl?.verifyError !== 'function') return 'The TLS engine does not tell of certificates.'
  const error = ssl.verifyError()
  // What Node adds behind the semicolon is advice for clients.
  if (error) return `The visitor's certificate is refused: ${error.message.replace(/;.*/, '')}.`
  const certificate = secured.getPeerX509Certificate()
  if (certificate === undefined) return 'The visitor has no certificate.'
  return certificate.validToDate.getTime() > now ? undefined : "The visitor's certificate has run out."
}
