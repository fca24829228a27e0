import { once } from 'node:events'
import { isIP } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { AgentError } from '#agent/agent-error.ts'
import type { Trust } from '#agent/trust.ts'
import { Problem } from '#base/errors.ts'
import { parseHostPort } from '#base/hosts.ts'
import { elsewhereAlpn, OWN_ALPN } from '#tunnel/alpn.ts'

const DIAL_MS = 10_000
const KEEP_ALIVE_MS = 15_000
const SENT_AWAY = 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL'
// What OpenSSL and node call a certificate that does not prove what it should.
const UNTRUSTED = /^(ERR_TLS_CERT_|CERT_|SELF_SIGNED_|DEPTH_ZERO_|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA)/

export interface ServerAddress {
  readonly host: string
  readonly port: number
  readonly text: string
}

/** The process that answers has another connection of this agent, and so it is not the one that is looked for. */
export class TakenError extends Error {
  override readonly name = 'TakenError'

  constructor(cause: unknown) {
    super('it is the process that has the other connection', { cause })
  }
}

/** Reads `host:port`. */
export function serverAddress(text: string): ServerAddress {
  const parsed = parseHostPort(text)
  if (parsed === undefined || parsed.port < 1 || parsed.port > 65_535) {
    const problem = new Problem('agent_server_address', { value: text.slice(0, 100) })
    throw AgentError.of(problem, { permanent: true })
  }
  return { host: parsed.host.replace(/^\[(.*)\]$/, '$1'), port: parsed.port, text }
}

export interface DialOptions {
  readonly trust: Trust
  /** Processes of the gateway that are not wanted. */
  readonly taken: readonly string[]
  readonly signal: AbortSignal
}

/** Connects to a gateway and sees to it that it is the one that was meant. */
export async function dialGateway(
  server: ServerAddress,
  { trust, taken, signal }: DialOptions,
): Promise<TLSSocket> {
  const { host, port } = server
  const socket = connect({
    host,
    port,
    servername: isIP(host) === 0 ? host : '',
    secureContext: trust.contextFor(host),
    ALPNProtocols: [OWN_ALPN, ...taken.map(elsewhereAlpn)],
  })
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.any([signal, AbortSignal.timeout(DIAL_MS)]) })
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    return socket
  } catch (error) {
    socket.on('error', () => undefined)
    socket.destroy()
    const isTaken = (error as NodeJS.ErrnoException).code === SENT_AWAY
    throw isTaken ? new TakenError(error) : dialError(error, server.text)
  }
}

function dialError(error: unknown, server: string): AgentError {
  const { code = '', name, message } = error as NodeJS.ErrnoException
  if (UNTRUSTED.test(code)) {
    const problem = new Problem('agent_untrusted', { server, reason: message.replace(/\.$/, '') })
    return AgentError.of(problem, { permanent: true, cause: error })
  }
  const reason = name === 'AbortError' ? `no answer within ${DIAL_MS / 1000} s` : code || message
  return AgentError.of(new Problem('agent_unreachable', { server, reason }), { cause: error })
}
