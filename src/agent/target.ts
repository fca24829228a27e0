import { AgentError } from '#agent/agent-error.ts'
import type { EndpointProto } from '#agent/options.ts'
import { Problem } from '#base/errors.ts'
import { parseHostPort } from '#base/hosts.ts'

/** The address of the service. */
export interface UpstreamTarget {
  readonly place: { readonly host: string; readonly port: number } | { readonly path: string }
  /** The service uses TLS. */
  readonly encrypted: boolean
  /** How it is displayed. */
  readonly text: string
}

const ports: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }
const encryptedSchemes = new Set(['https:', 'tls:'])
const schemes = /^(https?|tcp|tls):\/\//i

/** Reads 8080, `host:port`, `https://host:port` or `unix:/path`. */
export function readTarget(given: string | number, proto: EndpointProto | ''): UpstreamTarget {
  const value = String(given).trim()
  if (value.startsWith('unix:/')) return { place: { path: value.slice(5) }, encrypted: false, text: value }
  const hostPort = /^:?\d+$/.test(value) ? `localhost:${value.replace(':', '')}` : value
  const isWeb = proto !== 'tcp' && proto !== 'tls'
  const url = URL.parse(schemes.test(hostPort) ? hostPort : `${isWeb ? 'http' : 'tcp'}://${hostPort}`)
  const port = url?.port === '' ? ports[url.protocol] : Number(url?.port)
  // A bare name has no default port; with a scheme it has that of the scheme.
  const isComplete = schemes.test(hostPort) || parseHostPort(hostPort) !== undefined
  if (!url || !isComplete || !isPlain(url) || !port) return refuse(value)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const shown = `${url.hostname}:${port}`
  return {
    place: { host, port },
    encrypted: encryptedSchemes.has(url.protocol),
    text: url.protocol === 'tcp:' ? shown : `${url.protocol}//${shown}`,
  }
}

/** Connections are forwarded unchanged, so only host and port have a meaning. */
const isPlain = ({ pathname, search, hash, username, password, hostname }: URL): boolean =>
  hostname !== '' && ['', '/'].includes(pathname) && !search && !hash && !username && !password

const refuse = (value: string): never => {
  const problem = new Problem('agent_target', { value: value.slice(0, 200) })
  throw AgentError.of(problem, { permanent: true })
}
