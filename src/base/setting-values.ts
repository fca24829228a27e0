import { availableParallelism } from 'node:os'
import { ExitError } from '#base/exit-error.ts'
import { canonicalAddress, parseRange, type Range } from '#base/addresses.ts'
import { headerVerdict, signalAddress } from '#base/otlp.ts'
import { logLevels, type LogLevel } from '#base/log-levels.ts'
import { MASTER_KEY_BYTES, Secret } from '#base/secrets.ts'

/** Parsers for the values of settings; each throws with the words that follow "must be". */

/** An unusable setting; the program prints it and exits with code 2. */
export class SettingError extends ExitError {
  override readonly name = 'SettingError'
  readonly exitCode = 2
}

export interface AddressSetting {
  readonly host: string
  readonly port: number
}

export const text = (value: string): string => value

function refuse(what: string): never {
  throw new SettingError(what)
}

export function address(value: string): AddressSetting | undefined {
  if (value === 'off') return undefined
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]*):(\d{1,5})$/.exec(value)
  const port = Number(match?.[2])
  if (!match || port > 65_535) return refuse('host:port, such as 127.0.0.1:4600, or off')
  return { host: (match[1] ?? '').replace(/^\[(.*)\]$/, '$1') || '0.0.0.0', port }
}

export function ports(value: string): { first: number; last: number } {
  const [, from, to] = /^(\d{1,5})-(\d{1,5})$/.exec(value) ?? []
  const [first, last] = [Number(from), Number(to)]
  return first >= 1 && last <= 65_535 && first <= last
    ? { first, last }
    : refuse('a range such as 1024-65535')
}

export function wholeNumber(minimum: number, maximum: number): (value: string) => number {
  return value =>
    /^\d{1,9}$/.test(value) && Number(value) >= minimum && Number(value) <= maximum
      ? Number(value)
      : refuse(`a whole number between ${minimum} and ${maximum}`)
}

const MAX_PROCESSES = 64

export function processes(value: string): number {
  if (value === 'auto') return Math.min(availableParallelism(), MAX_PROCESSES)
  const count = /^\d{1,2}$/.test(value) ? Number(value) : 0
  return count >= 1 && count <= MAX_PROCESSES
    ? count
    : refuse(`a whole number between 1 and ${MAX_PROCESSES}, or auto`)
}

export function url(value: string): string {
  const parsed = URL.parse(value)
  const web = parsed?.protocol === 'http:' || parsed?.protocol === 'https:'
  return web ? value.replace(/\/+$/, '') : refuse('a URL such as https://api.example.com')
}

export const directory = (value: string): string | undefined => (value === 'off' ? undefined : url(value))

export function email(value: string): string {
  return /^[\x21-\x3f\x41-\x7e]{1,64}@[a-z0-9.-]{1,253}$/i.test(value)
    ? value
    : refuse('an e-mail address such as hostmaster@example.com')
}

export function nameServers(value: string): readonly string[] {
  return value.split(',').map(part => {
    const [, host = '', port = '53'] = /^([0-9.]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/i.exec(part.trim()) ?? []
    const isAddress = canonicalAddress(host.replace(/^\[(.*)\]$/, '$1')) !== undefined
    return isAddress && Number(port) > 0 && Number(port) < 65_536
      ? `${host}:${port}`
      : refuse('comma-separated addresses, such as 192.0.2.53 or [2001:db8::53]:5353')
  })
}

export function token(value: string): Secret {
  return /^[\x21-\x7e]{1,512}$/.test(value) ? new Secret(value) : refuse('1 to 512 visible ASCII characters')
}

/** An application at an OAuth provider: its id, a colon, its secret. */
export function application(value: string): { id: string; secret: Secret } {
  const [, id, secret] = /^([\x21-\x39\x3b-\x7e]{1,1024}):([\x21-\x7e]{1,4096})$/.exec(value) ?? []
  return id && secret ? { id, secret: new Secret(secret) } : refuse('CLIENT_ID:CLIENT_SECRET')
}

/** Reads a key of 32 bytes, in base64 or hex. */
export function masterKey(value: string): Secret {
  const trimmed = value.trim()
  const bytes = Buffer.from(trimmed, /^[0-9a-fA-F]{64}$/.test(trimmed) ? 'hex' : 'base64')
  return bytes.length === MASTER_KEY_BYTES
    ? new Secret(bytes.toString('base64'))
    : refuse('32 bytes in base64 or hex')
}

export function domain(value: string): string {
  const name = value.toLowerCase()
  return /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(name) ? name : refuse('a domain such as example.com')
}

export function networks(value: string): readonly Range[] {
  const parts = value.split(',').map(part => part.trim())
  return parts
    .filter(part => part !== '')
    .map(part => parseRange(part) ?? refuse('comma-separated networks, such as 10.0.0.0/8,fd00::/8'))
}

const listed = (value: string): string[] =>
  value
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')

export function ips(value: string): readonly string[] {
  const found = listed(value).map(part => canonicalAddress(part))
  const given = [...new Set(found.filter(each => each !== undefined))]
  return found.includes(undefined) || given.length < 1 || given.length > 16
    ? refuse('1 to 16 comma-separated addresses, such as 198.51.100.7,2001:db8::7')
    : given
}

export function authorities(value: string): readonly string[] {
  return listed(value).map(name =>
    /^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(name)
      ? name.toLowerCase()
      : refuse('comma-separated CA names, such as letsencrypt.org'),
  )
}

export const eventServices = ['firehose', 'kinesis', 'logs', 'sts', 'datadog', 'azure_login']

export function endpoints(value: string): Readonly<Record<string, string>> {
  const pairs = listed(value).map(part => {
    const [, name = '', at = ''] = /^([a-z_]+)=(.+)$/.exec(part) ?? []
    return eventServices.includes(name)
      ? ([name, url(at)] as const)
      : refuse(`comma-separated NAME=URL, with a NAME of ${eventServices.join(', ')}`)
  })
  return Object.fromEntries(pairs)
}

/** E-mail domains. */
export function domains(value: string): readonly string[] {
  const all = listed(value.toLowerCase())
  return all.length > 0 && all.every(each => /^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(each))
    ? all
    : refuse('comma-separated domains, such as example.com')
}

/** The role of each group. */
export function groupRoles(value: string): ReadonlyMap<string, 'admin' | 'member'> {
  const pairs = listed(value).map(part => {
    const [, group = '', role] = /^(.+)=(admin|member)$/.exec(part) ?? []
    return role === 'admin' || role === 'member'
      ? ([group, role] as const)
      : refuse('comma-separated GROUP=ROLE, with the role admin or member')
  })
  return new Map(pairs)
}

/** User names and passwords belong in headers, and a path cannot follow a query. */
export function collector(value: string): string {
  const plain = url(value)
  const { username, password, search, hash } = new URL(plain)
  return [username, password, search, hash].every(part => part === '')
    ? plain
    : refuse('a URL such as http://127.0.0.1:4318, without a password or a query')
}

export const tracesAddress = (value: string): string | undefined =>
  value === 'off' ? undefined : signalAddress(collector(value), '/v1/traces')

/** In the form of OTEL_EXPORTER_OTLP_HEADERS: values may be percent-encoded. Errors do not quote them. */
export function headers(value: string): ReadonlyMap<string, Secret> {
  const pairs = listed(value).map(part => {
    const [, name = '', written = ''] = /^([^=\s]{1,256})\s*=\s*(.{0,4096})$/.exec(part) ?? []
    const [key, plain] = [name.toLowerCase(), decoded(written)]
    return plain !== undefined && headerVerdict(key, plain) === 'fine'
      ? ([key, new Secret(plain)] as const)
      : refuse('comma-separated NAME=VALUE, with valid header names and values')
  })
  return new Map(pairs)
}

function decoded(value: string): string | undefined {
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}

/** Names of header fields, in lower case. */
export function headerNames(value: string): readonly string[] {
  return listed(value).map(name =>
    headerVerdict(name.toLowerCase(), '') === 'fine'
      ? name.toLowerCase()
      : refuse('comma-separated header names, such as X-Api-Key,X-Session'),
  )
}

export function share(value: string): number {
  return /^(?:0(?:\.\d{1,9})?|1(?:\.0{1,9})?|\.\d{1,9})$/.test(value)
    ? Number(value)
    : refuse('a number between 0 and 1, such as 0.01')
}

export function serviceName(value: string): string {
  return value.length > 0 && value.length <= 256 ? value : refuse('1 to 256 characters')
}

export const onOff = (value: string): boolean =>
  value === 'on' ? true : value === 'off' ? false : refuse('on or off')

export function logLevel(value: string): LogLevel {
  return logLevels.find(level => level === value) ?? refuse(`one of ${logLevels.join(', ')}`)
}

/** Listeners that may be behind a load balancer with the PROXY protocol. */
export const proxiedListeners = ['http', 'https', 'tcp', 'agent', 'ssh'] as const
export type ProxiedListener = (typeof proxiedListeners)[number]

export function listenerNames(value: string): readonly ProxiedListener[] {
  return listed(value).map(
    name =>
      proxiedListeners.find(each => each === name) ??
      refuse(`comma-separated names of ${proxiedListeners.join(', ')}`),
  )
}

/** Headers in which proxies pass on the address of their client. */
export const proxyHeaders = ['x-forwarded-for', 'forwarded'] as const
export type ProxyHeaderName = (typeof proxyHeaders)[number]

export function proxyHeader(value: string): ProxyHeaderName {
  return (
    proxyHeaders.find(name => name === value.toLowerCase()) ?? refuse(`one of ${proxyHeaders.join(', ')}`)
  )
}
