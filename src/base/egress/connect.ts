import { connect, isIP, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext, type TLSSocket } from 'node:tls'
import { EgressError, type EgressConnect } from '#base/egress.ts'
import { unlessAborted } from '#base/egress/deadline.ts'
import type { Resolver } from '#base/egress/resolver.ts'

// A dead address must not use up the time for the next one.
const NEXT_ADDRESS_MS = 1500
const MAX_TRIED = 4

export interface Line {
  readonly resolver: Resolver
  /** Options for certificate checks. */
  readonly trust: () => SecureContext
}

/** Connects to a checked address: no name is resolved between the check and the connection. */
export async function openConnection(
  { resolver, trust }: Line,
  { host, port, tls }: EgressConnect,
  signal: AbortSignal,
): Promise<Socket> {
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  const addresses = await unlessAborted(signal, resolver.addresses(bare))
  const socket = await firstOf(addresses.slice(0, MAX_TRIED), port, signal).catch((error: unknown) => {
    throw failure(`${host}:${port} cannot be reached`, error)
  })
  return tls === undefined ? socket : encrypted(socket, tls, trust(), signal)
}

async function firstOf(addresses: readonly string[], port: number, signal: AbortSignal): Promise<Socket> {
  let failed: unknown
  for (const [at, host] of addresses.entries()) {
    const isLast = at === addresses.length - 1
    const patience = isLast ? signal : AbortSignal.any([signal, AbortSignal.timeout(NEXT_ADDRESS_MS)])
    try {
      return await ready(connect({ host, port, allowHalfOpen: true, noDelay: true }), 'connect', patience)
    } catch (error) {
      if (signal.aborted) throw error
      failed = error
    }
  }
  throw failed
}

async function encrypted(
  socket: Socket,
  { serverName, alpn = [] }: NonNullable<EgressConnect['tls']>,
  secureContext: SecureContext,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const name = serverName.replace(/^\[(.*)\]$/, '$1')
  const wrapped = connectTls({
    socket,
    secureContext,
    ALPNProtocols: [...alpn],
    // An address is checked like a name, but cannot be sent as SNI.
    ...(isIP(name) === 0 ? { servername: name } : { host: name }),
  })
  try {
    return await ready(wrapped, 'secureConnect', signal)
  } catch (error) {
    socket.destroy()
    // Typed as an error, but it is a code, and only set after the certificate check.
    const untrusted = Boolean(wrapped.authorizationError)
    const what = untrusted ? `The certificate of ${name} is not valid` : `${name} failed the TLS handshake`
    throw failure(what, error, untrusted ? 'untrusted' : 'unreachable')
  }
}

/** Waits until a socket is connected; it is destroyed if the signal fires first. */
function ready<Kind extends Socket>(
  socket: Kind,
  event: 'connect' | 'secureConnect',
  signal: AbortSignal,
): Promise<Kind> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      socket.off(event, done).off('error', failed)
      signal.removeEventListener('abort', late)
    }
    const done = (): void => {
      settle()
      resolve(socket)
    }
    const failed = (error: unknown): void => {
      settle()
      socket.destroy()
      reject(error)
    }
    const late = (): void => failed(signal.reason)
    // Never removed: an error between two users of the socket must not crash the process.
    socket.on('error', () => undefined)
    socket.once(event, done).once('error', failed)
    signal.addEventListener('abort', late, { once: true })
    if (signal.aborted) late()
  })
}

/** Keeps an EgressError; wraps any other error with its reason. */
export function failure(
  what: string,
  cause: unknown,
  code: EgressError['code'] = 'unreachable',
): EgressError {
  if (cause instanceof EgressError) return cause
  const { code: reason, message } = cause as NodeJS.ErrnoException
  return new EgressError(`${what} (${reason ?? message}).`, { code, cause })
}
