import { once } from 'node:events'
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type ConnectionOptions } from 'node:tls'
import type { EndpointSpec } from '#agent/endpoint.ts'
import type { UpstreamTarget } from '#agent/target.ts'

const DIAL_MS = 10_000

/** Resolving this name takes a thread and a file; the result is known, and either may be the one. */
const localhost: LookupFunction = (_, __, answer) =>
  answer(null, [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ])

/** On this machine an address refuses at once, so that a late answer only shows that the machine was busy. */
const localhostFamilies = { autoSelectFamily: true, autoSelectFamilyAttemptTimeout: DIAL_MS }

/**
 * Opens a connection to the service behind an endpoint; bytes may be written at once. `plain`: the client's own TLS is
 * passed through.
 */
export function dialUpstream(endpoint: EndpointSpec, target: UpstreamTarget, plain: boolean): Socket {
  const encrypted = target.encrypted && !plain
  const socket = encrypted
    ? connectTls({ ...placeOf(target), ...tlsOptions(endpoint, target) })
    : connectTcp(placeOf(target))
  socket.setNoDelay(true)
  limit(socket, encrypted ? 'secureConnect' : 'connect')
  return socket
}

/** Aborts an attempt that takes too long. */
function limit(socket: Socket, event: 'connect' | 'secureConnect'): void {
  const timer = setTimeout(() => socket.destroy(new Error(`no response within ${DIAL_MS / 1000} s`)), DIAL_MS)
  const settled = (): void => clearTimeout(timer)
  socket.once(event, settled).once('close', settled)
}

/** The target as Node options. */
export function placeOf({ place }: UpstreamTarget) {
  if ('path' in place) return { path: place.path, allowHalfOpen: true }
  return place.host === 'localhost'
    ? { ...place, allowHalfOpen: true, lookup: localhost, ...localhostFamilies }
    : { ...place, allowHalfOpen: true }
}

function tlsOptions(
  { proto, forwardsProto, verify, upstreamCas }: EndpointSpec,
  { place }: UpstreamTarget,
): ConnectionOptions {
  const host = 'host' in place ? place.host : ''
  const isRaw = proto === 'tcp' || proto === 'tls'
  return {
    servername: isIP(host) === 0 ? host : '',
    rejectUnauthorized: verify,
    ...(upstreamCas && { ca: [...upstreamCas] }),
    ...(!isRaw && { ALPNProtocols: [forwardsProto === 'http2' ? 'h2' : 'http/1.1'] }),
  }
}

/** Like `dialUpstream`, with bytes that are sent first, even before the service's TLS. */
export async function dialBehind(
  endpoint: EndpointSpec,
  target: UpstreamTarget,
  { plain, preface }: { readonly plain: boolean; readonly preface: Buffer | undefined },
): Promise<Socket> {
  if (preface === undefined) return dialUpstream(endpoint, target, plain)
  const socket = dialUpstream(endpoint, { ...target, encrypted: false }, plain)
  socket.write(preface)
  if (!target.encrypted || plain) return socket
  await once(socket, 'connect')
  const encrypted = connectTls({ socket, ...tlsOptions(endpoint, target) })
  limit(encrypted, 'secureConnect')
  return encrypted
}

const explanations: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there (ECONNREFUSED). Start the service, or use its port',
  ENOENT: 'there is no such socket (ENOENT). Start the service, or check the path',
  ENOTFOUND: 'its name is unknown (ENOTFOUND). Check the address that the tunnel forwards to',
  EPROTO: 'it does not use TLS (EPROTO). Write http:// instead of https://',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not use TLS (EPROTO). Write http:// instead of https://',
}

const ACCEPT_ANY = 'or accept any certificate with --no-verify-upstream (verify_upstream: false)'

const certificateProblems: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: `its certificate has expired (CERT_HAS_EXPIRED). Renew it, ${ACCEPT_ANY}`,
  CERT_NOT_YET_VALID: `its certificate is not valid yet (CERT_NOT_YET_VALID). Correct the clock of this machine, ${ACCEPT_ANY}`,
  ERR_TLS_CERT_ALTNAME_INVALID: `its certificate is for another name (ERR_TLS_CERT_ALTNAME_INVALID). Forward to a name that it has, ${ACCEPT_ANY}`,
}

// Usually the user's own service with a self-signed certificate.
const untrusted = (code: string): string =>
  certificateProblems[code] ??
  `its certificate is not trusted (${code}). Set its CA with --upstream-tls-verify-cas, ${ACCEPT_ANY}`

const explained = (code: string): string =>
  explanations[code] ?? (/CERT|VERIFY|SIGNED/.test(code) ? untrusted(code) : code)

/** Why a service could not be reached, in a few words. */
export function dialReason(error: Error, { text }: UpstreamTarget): string {
  const causes = error instanceof AggregateError ? (error.errors as Error[]) : [error]
  const reasons = [
    ...new Set(causes.map(cause => explained((cause as NodeJS.ErrnoException).code ?? cause.message))),
  ].join(', ')
  return `${text} cannot be reached: ${reasons}`
}

/** The response of an agent whose upstream cannot be reached. */
export function badGateway(text: string): Buffer {
  const body = Buffer.from(text)
  const head =
    'HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain; charset=utf-8\r\n' +
    `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n`
  return Buffer.concat([Buffer.from(head), body])
}
