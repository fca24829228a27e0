import { once } from 'node:events'
import { isIP, type Socket } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { AgentError } from '#agent/agent-error.ts'
import { dialFailure, trustFailure, wrongPort } from '#agent/dial-failure.ts'
import { reach } from '#agent/reach.ts'
import type { Trust } from '#agent/trust.ts'
import { Problem } from '#base/errors.ts'
import { parseHostPort } from '#base/hosts.ts'
import { elsewhereAlpn, OWN_ALPN } from '#tunnel/alpn.ts'

const DIAL_MS = 10_000
const KEEP_ALIVE_MS = 15_000
const SENT_AWAY = 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'

export interface ServerAddress {
  readonly host: string
  readonly port: number
  readonly text: string
  /** The name in its certificate, if it is not `host`. */
  readonly certifiedName?: string
}

/** The responding process has another connection of this agent, so another one is needed. */
export class SameNodeError extends Error {
  override readonly name = 'SameNodeError'

  constructor(cause: unknown) {
    super('it is the process that has the other connection', { cause })
  }
}

const AGENT_PORT = 4443

/** Adds the default port. */
export const withPort = (text: string): string =>
  /^([^:[\]/\s@]+|\[[0-9a-fA-F:.]+\])$/.test(text) ? `${text}:${AGENT_PORT}` : text

/** Reads `host:port`, or a host alone. */
function serverAddress(given: string): ServerAddress {
  const text = withPort(given)
  const parsed = parseHostPort(text)
  if (parsed === undefined || parsed.port < 1 || parsed.port > 65_535) {
    const problem = new Problem('agent_server_address', { value: text.slice(0, 100) })
    throw AgentError.of(problem, { permanent: true })
  }
  return { host: parsed.host.replace(/^\[(.*)\]$/, '$1'), port: parsed.port, text }
}

/** Reads a list of servers, separated by commas. */
export function serverAddresses(given: string): readonly [ServerAddress, ...ServerAddress[]] {
  const [first = '', ...others] = given.split(',').map(each => each.trim())
  return [serverAddress(first), ...others.map(serverAddress)]
}

/** Another node, as a gateway names it: its certificate is that of the name that was dialled. Undefined if it is invalid. */
export function offeredAddress(given: string, dialled: ServerAddress): ServerAddress | undefined {
  // An empty string means the dialled address.
  if (given === '') return dialled
  try {
    const address = serverAddress(given)
    const isNamed = isIP(dialled.host) === 0 && isIP(address.host) !== 0
    return isNamed ? { ...address, certifiedName: dialled.host } : address
  } catch {
    return undefined
  }
}

interface DialOptions {
  readonly trust: Trust
  /** The proxy; by default that of the environment. */
  readonly proxy: string | undefined
  /** The number of earlier attempts: each begins with another address of the name. */
  readonly attempt: number
  /** Gateway processes to avoid. */
  readonly taken: readonly string[]
  readonly signal: AbortSignal
}

/** Connects to a gateway and verifies its identity. */
export async function dialGateway(server: ServerAddress, options: DialOptions): Promise<TLSSocket> {
  const { taken, signal } = options
  const limit = AbortSignal.any([signal, AbortSignal.timeout(DIAL_MS)])
  try {
    const socket = await secured(server, options, limit)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    return socket
  } catch (error) {
    const isTaken = taken.length > 0 && (error as NodeJS.ErrnoException).code === SENT_AWAY
    throw isTaken ? new SameNodeError(error) : handshakeFailure(error, server, DIAL_MS)
  }
}

/** Why a connection or its TLS handshake failed. */
export const handshakeFailure = (error: unknown, server: ServerAddress, waitedMs: number): AgentError =>
  (error as NodeJS.ErrnoException).code === SENT_AWAY
    ? wrongPort(server, error)
    : dialFailure(error, server, waitedMs)

/** Starts TLS with a gateway. Nothing may be sent before `trustFailure` returns undefined. */
export const beginTls = (
  socket: Socket,
  { host, certifiedName: name = host }: ServerAddress,
  { trust, taken }: Pick<DialOptions, 'trust' | 'taken'>,
): TLSSocket =>
  connect({
    socket,
    host,
    servername: isIP(name) === 0 ? name : '',
    secureContext: trust.contextFor(name),
    session: trust.sessionWith(name),
    ALPNProtocols: [OWN_ALPN, ...taken.map(elsewhereAlpn)],
    // The caller checks, while the certificate can still be read to explain an error.
    rejectUnauthorized: false,
  })

async function secured(
  server: ServerAddress,
  { trust, taken, proxy, attempt }: DialOptions,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const socket = beginTls(await reach(server, { proxyUrl: proxy, attempt }, signal), server, { trust, taken })
  try {
    await once(socket, 'secureConnect', { signal })
    const failure = trustFailure(socket, server, trust.given)
    if (failure) throw failure
    const { host, certifiedName = host } = server
    // Its tickets follow the handshake.
    socket.on('session', session => trust.keepSession(certifiedName, session))
    return socket
  } catch (error) {
    socket.on('error', () => undefined)
    socket.destroy()
    throw error
  }
}
