import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import { secureAfter } from '#tunnel/socket-reads.ts'

export interface Termination {
  readonly context: SecureContext
  /** As `alpnList` gives it; undefined: the visitor's wish is left unanswered. */
  readonly alpn: Buffer | undefined
  /** Whether the visitor needs a certificate of the context's authorities. */
  readonly clientCertificate: boolean
  readonly now?: () => number
}

const HIGH_WATER_MARK = 65_536

/** Names of protocols in the order of preference, made once for many handshakes. */
export const alpnList = (...names: readonly string[]): Buffer =>
  Buffer.concat(names.map(name => Buffer.from(`${String.fromCharCode(name.length)}${name}`, 'latin1')))

/** Ends TLS on a socket of which `peeked` was read before. Rejects when the handshake fails. */
export function terminate(socket: Socket, peeked: Buffer, options: Termination): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>()
  if (socket.destroyed) {
    reject(new Error('The visitor left before the handshake.'))
    return promise
  }
  secureAfter(socket, peeked, () => {
    const secured = engage(socket, options)
    follow(secured, options, { resolve, reject })
    return secured
  })
  return promise
}

function engage(socket: Socket, { context, alpn, clientCertificate }: Termination): TLSSocket {
  return new TLSSocket(socket, {
    isServer: true,
    secureContext: context,
    requestCert: clientCertificate,
    rejectUnauthorized: clientCertificate,
    ...(alpn && { ALPNProtocols: alpn }),
    ...tuning,
  })
}

interface Outcome {
  readonly resolve: (secured: TLSSocket) => void
  readonly reject: (reason: Error) => void
}

function follow(
  secured: TLSSocket,
  { clientCertificate, now = Date.now }: Termination,
  { resolve, reject }: Outcome,
): void {
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
