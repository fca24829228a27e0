import type { TLSSocket } from 'node:tls'
import { AgentError } from '#agent/agent-error.ts'
import { Problem } from '#base/errors.ts'

interface DialedServer {
  readonly host: string
  readonly text: string
}

/** Errors of OpenSSL and Node for plain text instead of TLS. */
const NOT_TLS =
  /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG|HTTP_REQUEST|UNEXPECTED_MESSAGE|UNSUPPORTED_PROTOCOL)$/

const advice: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    'nothing listens there (ECONNREFUSED). Check that the gateway runs and that this is its agent_addr, by default port 4443',
  ENOTFOUND: 'its name is unknown (ENOTFOUND). Check the spelling of --server and the DNS of this machine',
  EAI_AGAIN:
    'its name cannot be resolved at the moment (EAI_AGAIN). Check the network and the DNS of this machine',
  ECONNRESET:
    'the connection was closed during the TLS handshake (ECONNRESET). Check that no firewall or proxy in between blocks TLS to this port',
  EHOSTUNREACH: 'no route to the host (EHOSTUNREACH). Check the network of this machine',
  ENETUNREACH: 'no route to the network (ENETUNREACH). Check the network of this machine',
}

/** Why connecting to a gateway failed: the problem, its cause and what to change. */
export function dialFailure(error: unknown, { text: server }: DialedServer, waitedMs: number): AgentError {
  if (error instanceof AgentError) return error
  const { code = '', name, message } = error as NodeJS.ErrnoException
  if (NOT_TLS.test(code))
    return AgentError.of(new Problem('agent_not_tls', { server }), { permanent: true, cause: error })
  const isLate = name === 'AbortError' || name === 'TimeoutError' || code === 'ETIMEDOUT'
  const reason = isLate
    ? `no response within ${waitedMs / 1000} s. Check the address, and that no firewall blocks this port`
    : (advice[code] ?? (code || message))
  return AgentError.of(new Problem('agent_unreachable', { server, reason }), { cause: error })
}

/** The HTTPS listener and most web servers abort the handshake if HTTP is not offered. */
export const wrongPort = ({ text: server }: DialedServer, cause: unknown): AgentError =>
  AgentError.of(new Problem('agent_wrong_port', { server }), { permanent: true, cause })

const day = (date: Date): string => date.toISOString().slice(0, 10)
const minute = (date: Date): string => `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** Why the certificate of a gateway is rejected; undefined when it is accepted. */
export function trustFailure(
  socket: TLSSocket,
  { host, text: server }: DialedServer,
  ca: string | undefined,
  now = new Date(),
): AgentError | undefined {
  if (socket.authorized) return undefined
  const error = socket.authorizationError as Error & { code?: string }
  const code = error.code ?? String(error)
  const certificate = socket.getPeerX509Certificate()
  const permanent = { permanent: true, cause: error }
  if (certificate && code === 'CERT_HAS_EXPIRED') {
    const end = day(certificate.validToDate)
    return AgentError.of(
      new Problem('agent_certificate_expired', { server, end, now: minute(now) }),
      permanent,
    )
  }
  if (certificate && code === 'CERT_NOT_YET_VALID') {
    const start = minute(certificate.validFromDate)
    return AgentError.of(
      new Problem('agent_certificate_early', { server, start, now: minute(now) }),
      permanent,
    )
  }
  if (certificate && code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = certificate.subjectAltName?.replaceAll(/(DNS|IP Address):/g, '') ?? 'no name'
    return AgentError.of(new Problem('agent_certificate_name', { server, host, names }), permanent)
  }
  const issuer = certificate?.issuer.replaceAll('\n', ', ') ?? 'an unknown issuer'
  return AgentError.of(
    new Problem('agent_untrusted', { server, reason: untrustedReason(issuer, ca) }),
    permanent,
  )
}

/** The name of a gateway's local CA. */
const LOCAL = /Adit/

function untrustedReason(issuer: string, ca: string | undefined): string {
  const used =
    ca === undefined || ca.includes('-----BEGIN')
      ? ''
      : ` ${ca === 'host' ? 'The CAs of this machine do' : `The file ${ca} does`} not have it.`
  const fix = LOCAL.test(issuer)
    ? 'That is the local CA of a gateway: copy ca.pem from its data folder and set it with --ca'
    : 'That is not the CA of a gateway: a proxy that intercepts TLS, or another server, may be in between. If you trust it, set its CA with --ca'
  return `it was issued by ${issuer}, which is not trusted here.${used} ${fix}`
}
