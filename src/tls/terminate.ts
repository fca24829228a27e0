import type { Socket } from 'node:net'
import { type SecureContext, TLSSocket } from 'node:tls'
import { secureAfter } from '#tunnel/socket-reads.ts'

interface TlsTerminationOptions {
  readonly context: SecureContext
  /** From `alpnList`; undefined: ALPN is not negotiated. */
  readonly alpn: Buffer | undefined
  /** Whether a client certificate of the context's CAs is required. */
  readonly clientCertificate: boolean
  readonly now?: () => number
}

const HIGH_WATER_MARK = 65_536

/** Protocol names in order of preference, built once for many handshakes. */
export const alpnList = (...names: readonly string[]): Buffer =>
  Buffer.concat(names.map(name => Buffer.from(`${String.fromCharCode(name.length)}${name}`, 'latin1')))

/** Terminates TLS on a socket of which `peeked` was read before. Rejects when the handshake fails. */
export function terminate(
  socket: Socket,
  peeked: Buffer,
  options: TlsTerminationOptions,
): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>()
  if (socket.destroyed) {
    reject(new Error('The client disconnected before the handshake.'))
    return promise
  }
  secureAfter(socket, peeked, () => {
    const secured = engage(socket, options)
    follow(secured, options, { resolve, reject })
    return secured
  })
  return promise
}

function engage(socket: Socket, { context, alpn, clientCertificate }: TlsTerminationOptions): TLSSocket {
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
  { clientCertificate, now = Date.now }: TlsTerminationOptions,
  { resolve, reject }: Outcome,
): void {
  let failure: Error | undefined
  // The name is undocumented, but nothing depends on it: it is only the reason.
  secured.on('_tlsError', (error: Error) => (failure ??= error))
  secured.on('error', (error: Error) => (failure ??= error))
  const fail = (): void => reject(failure ?? new Error('The handshake failed.'))
  secured.on('close', fail)
  // The sockets are half-open, so nothing else would close this one before its timeout.
  const leave = (): void => void secured.destroy(new Error('The client disconnected during the handshake.'))
  secured.on('end', leave)
  secured.on('secure', () => {
    secured.off('end', leave)
    // Only `tls.Server` sets this on its sockets; readers of this one must not wait for the handshake again.
    Object.assign(secured, { secureConnecting: false })
    const fault = clientCertificate ? faultOf(secured, now()) : undefined
    // The library cannot send an alert that says what is wrong with the certificate.
    if (fault !== undefined) return void secured.destroy(new Error(fault))
    // Every connection closes eventually, and an unused error would cost a stack trace.
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
 * Why the client certificate is invalid. This is what `tls.Server` checks for its own sockets; there is no public API,
 * so an engine without it counts as invalid. A resumed session can lack a certificate without an error, and its
 * certificate may have expired since.
 */
function faultOf(secured: TLSSocket, now: number): string | undefined {
  const { ssl } = secured as unknown as { readonly ssl?: Engine }
  if (typeof ssl?.verifyError !== 'function') return 'The TLS engine does not report certificates.'
  const error = ssl.verifyError()
  // Node adds advice for clients after the semicolon.
  if (error) return `The client certificate is rejected: ${error.message.replace(/;.*/, '')}.`
  const certificate = secured.getPeerX509Certificate()
  if (certificate === undefined) return 'The client has no certificate.'
  return certificate.validToDate.getTime() > now ? undefined : 'The client certificate has expired.'
}
