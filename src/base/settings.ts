import { canonicalAddress, parseRange, type Range } from '#base/addresses.ts'
import { logLevels, type LogLevel } from '#base/log.ts'
import { MASTER_KEY_BYTES, Secret } from '#base/secrets.ts'

/** A setting that cannot be used; the program says so and ends with exit code 2. */
export class SettingError extends Error {
  override readonly name = 'SettingError'
}

/** How one setting is written and what it means. Its flag, variable and file key follow from its name. */
export interface Setting<Value> {
  readonly doc: string
  readonly example: string
  /** As text, for people; absent where there is none. */
  readonly fallback?: string
  /** Rejects by throwing with the words that follow "must be". */
  readonly read: (text: string) => Value
  /** Understood, so that one script serves all releases, but nothing acts on it yet. */
  readonly later?: true
}

export interface Address {
  readonly host: string
  readonly port: number
}

const setting = <Value, const Spec extends Setting<Value>>(spec: Spec & Setting<Value>): Spec => spec
const text = (value: string): string => value

function refuse(what: string): never {
  throw new SettingError(what)
}

function address(value: string): Address | undefined {
  if (value === 'off') return undefined
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:[\]\s]*):(\d{1,5})$/.exec(value)
  const port = Number(match?.[2])
  if (!match || port > 65_535) return refuse('host:port, such as 127.0.0.1:4600, or off')
  return { host: (match[1] ?? '').replace(/^\[(.*)\]$/, '$1') || '0.0.0.0', port }
}

function ports(value: string): { first: number; last: number } {
  const [, from, to] = /^(\d{1,5})-(\d{1,5})$/.exec(value) ?? []
  const [first, last] = [Number(from), Number(to)]
  return first >= 1 && last <= 65_535 && first <= last
    ? { first, last }
    : refuse('a range such as 1024-65535')
}

function wholeNumber(minimum: number, maximum: number): (value: string) => number {
  return value =>
    /^\d{1,9}$/.test(value) && Number(value) >= minimum && Number(value) <= maximum
      ? Number(value)
      : refuse(`a whole number between ${minimum} and ${maximum}`)
}

function url(value: string): string {
  const parsed = URL.parse(value)
  const web = parsed?.protocol === 'http:' || parsed?.protocol === 'https:'
  return web ? value.replace(/\/+$/, '') : refuse('an address such as https://api.example.com')
}

const directory = (value: string): string | undefined => (value === 'off' ? undefined : url(value))

function email(value: string): string {
  return /^[\x21-\x3f\x41-\x7e]{1,64}@[a-z0-9.-]{1,253}$/i.test(value)
    ? value
    : refuse('an e-mail address such as hostmaster@example.com')
}

function nameServers(value: string): readonly string[] {
  return value.split(',').map(part => {
    const [, host = '', port = '53'] = /^([0-9.]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/i.exec(part.trim()) ?? []
    const isAddress = canonicalAddress(host.replace(/^\[(.*)\]$/, '$1')) !== undefined
    return isAddress && Number(port) > 0 && Number(port) < 65_536
      ? `${host}:${port}`
      : refuse('addresses with commas between them, such as 192.0.2.53 or [2001:db8::53]:5353')
  })
}

function token(value: string): Secret {
  return /^[\x21-\x7e]{1,512}$/.test(value) ? new Secret(value) : refuse('1 to 512 visible ASCII characters')
}

/** An application at an OAuth provider: its id, a colon, its secret. */
function application(value: string): { id: string; secret: Secret } {
  const [, id, secret] = /^([\x21-\x39\x3b-\x7e]{1,1024}):([\x21-\x7e]{1,4096})$/.exec(value) ?? []
  return id && secret ? { id, secret: new Secret(secret) } : refuse('CLIENT_ID:CLIENT_SECRET')
}

const managedAt = (provider: string) =>
  setting({
    doc: `Application at ${provider} for endpoints whose owner brings none.`,
    example: 'CLIENT_ID:CLIENT_SECRET',
    read: application,
  })

/** Reads a key of 32 bytes, in base64 or hex. */
export function masterKey(value: string): Secret {
  const trimmed = value.trim()
  const bytes = Buffer.from(trimmed, /^[0-9a-fA-F]{64}$/.test(trimmed) ? 'hex' : 'base64')
  return bytes.length === MASTER_KEY_BYTES
    ? new Secret(bytes.toString('base64'))
    : refuse('32 bytes in base64 or hex')
}

function domain(value: string): string {
  const name = value.toLowerCase()
  return /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(name) ? name : refuse('a domain such as example.com')
}

function networks(value: string): readonly Range[] {
  const parts = value.split(',').map(part => part.trim())
  return parts
    .filter(part => part !== '')
    .map(part => parseRange(part) ?? refuse('networks with commas between them, such as 10.0.0.0/8,fd00::/8'))
}

const listed = (value: string): string[] =>
  value
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== '')

function ips(value: string): readonly string[] {
  const found = listed(value).map(part => canonicalAddress(part))
  const given = [...new Set(found.filter(each => each !== undefined))]
  return found.includes(undefined) || given.length < 1 || given.length > 16
    ? refuse('1 to 16 addresses with commas between them, such as 198.51.100.7,2001:db8::7')
    : given
}

function authorities(value: string): readonly string[] {
  return listed(value).map(name =>
    /^(?=.{1,253}$)[a-z0-9-]+(\.[a-z0-9-]+)+$/i.test(name)
      ? name.toLowerCase()
      : refuse('names of authorities with commas between them, such as letsencrypt.org'),
  )
}

const eventServices = ['firehose', 'kinesis', 'logs', 'sts', 'datadog', 'azure_login']

function endpoints(value: string): Readonly<Record<string, string>> {
  const pairs = listed(value).map(part => {
    const [, name = '', at = ''] = /^([a-z_]+)=(.+)$/.exec(part) ?? []
    return eventServices.includes(name)
      ? ([name, url(at)] as const)
      : refuse(`NAME=URL with commas between them, the names of ${eventServices.join(', ')}`)
  })
  return Object.fromEntries(pairs)
}

const onOff = (value: string): boolean =>
  value === 'on' ? true : value === 'off' ? false : refuse('on or off')

function logLevel(value: string): LogLevel {
  return logLevels.find(level => level === value) ?? refuse(`one of ${logLevels.join(', ')}`)
}

/** Every setting of the program. */
export const settings = {
  data_dir: setting({ doc: 'Data folder.', example: 'FOLDER', fallback: './data', read: text }),
  database_url: setting({
    doc: 'Database; a SQLite file in the data folder when absent.',
    example: 'postgres://...',
    read: text,
  }),
  api_addr: setting({
    doc: 'Where the management API listens.',
    example: 'HOST:PORT',
    fallback: '127.0.0.1:4600',
    read: address,
  }),
  api_url: setting({
    doc: 'Public address of the API, used in every uri; derived from each call when absent.',
    example: 'URL',
    read: url,
  }),
  domain: setting({
    doc: 'Shared base domain.',
    example: 'DOMAIN',
    fallback: 'adit.localhost',
    read: domain,
  }),
  region: setting({ doc: 'Region identifier.', example: 'REGION', fallback: 'us', read: text }),
  tcp_ports: setting({
    doc: 'TCP ports that edges and tunnels may use.',
    example: 'FIRST-LAST',
    fallback: '1024-65535',
    read: ports,
  }),
  api_key: setting({
    doc: "The first admin's API key, made on the first start; generated when absent.",
    example: 'TOKEN',
    read: token,
  }),
  authtoken: setting({
    doc: 'The first agent credential, made on the first start; generated when absent.',
    example: 'TOKEN',
    read: token,
  }),
  master_key: setting({
    doc: 'Key that seals secrets at rest, 32 bytes in base64 or hex.',
    example: 'KEY',
    read: masterKey,
  }),
  master_key_file: setting({
    doc: 'The same from a file; generated as master.key in the data folder when absent.',
    example: 'FILE',
    read: text,
  }),
  rate_limit: setting({
    doc: 'API calls per minute and key; 0 for no limit.',
    example: 'CALLS',
    fallback: '120',
    read: wholeNumber(0, 1_000_000),
  }),
  log_level: setting({
    doc: `How much is logged: ${logLevels.join(', ')}.`,
    example: 'LEVEL',
    fallback: 'info',
    read: logLevel,
  }),
  http_addr: setting({
    doc: 'Where visitors reach HTTP.',
    example: 'HOST:PORT',
    fallback: '127.0.0.1:8080',
    read: address,
  }),
  https_addr: setting({
    doc: 'Where visitors reach HTTPS, and TLS endpoints.',
    example: 'HOST:PORT',
    fallback: '127.0.0.1:8443',
    read: address,
  }),
  public_http_port: setting({
    doc: 'Port of HTTP in public addresses, where another one is mapped to it; the one it listens on when absent.',
    example: 'PORT',
    read: wholeNumber(1, 65_535),
  }),
  public_https_port: setting({
    doc: 'The same for HTTPS.',
    example: 'PORT',
    read: wholeNumber(1, 65_535),
  }),
  agent_addr: setting({
    doc: 'Where agents connect.',
    example: 'HOST:PORT',
    fallback: '127.0.0.1:4443',
    read: address,
  }),
  ssh_addr: setting({
    doc: 'Where ssh -R connects.',
    example: 'HOST:PORT',
    fallback: '127.0.0.1:2222',
    read: address,
  }),
  tcp_host: setting({
    doc: 'The address on which TCP endpoints listen.',
    example: 'HOST',
    fallback: '127.0.0.1',
    read: text,
  }),
  workers: setting({
    doc: 'Gateway processes on this machine.',
    example: 'N',
    fallback: '1',
    read: wholeNumber(1, 64),
  }),
  dns_addr: setting({
    doc: 'Where the authoritative DNS server for the shared domain and delegated ones listens, UDP and TCP.',
    example: 'HOST:PORT',
    fallback: 'off',
    read: address,
  }),
  public_addresses: setting({
    doc: 'Addresses at which the world reaches this server, for DNS; those it listens on when absent.',
    example: 'IP,...',
    read: ips,
  }),
  caa: setting({
    doc: 'Authorities that DNS allows to issue certificates, such as letsencrypt.org; any when absent.',
    example: 'NAME,...',
    read: authorities,
  }),
  acme_directory: setting({
    doc: 'Directory of the authority that issues certificates for custom domains (ACME).',
    example: 'URL',
    fallback: 'https://acme-v02.api.letsencrypt.org/directory',
    read: directory,
  }),
  acme_ca_file: setting({
    doc: 'Roots, in PEM, that are trusted beside the usual ones when that authority is called.',
    example: 'FILE',
    read: text,
  }),
  acme_email: setting({
    doc: 'Where that authority may write to when something is wrong.',
    example: 'ADDRESS',
    read: email,
  }),
  acme_dns: setting({
    doc: 'Name servers that are asked whether a custom domain leads here; those of the machine when absent.',
    example: 'IP:PORT,...',
    read: nameServers,
  }),
  fast_reads: setting({
    doc: "Read sockets into memory that is used again, by way of Node's internals; off if a Node should not bear it.",
    example: 'SWITCH',
    fallback: 'on',
    read: onOff,
  }),
  access_log: setting({
    doc: 'Where each request is noted as a line of JSON: a file, or stdout; nowhere when absent.',
    example: 'FILE',
    read: text,
  }),
  audit_days: setting({
    doc: 'How many days changes are kept for GET /audit_events.',
    example: 'DAYS',
    fallback: '90',
    read: wholeNumber(1, 3650),
  }),
  kept_requests: setting({
    doc: 'How many requests each gateway process keeps for GET /requests; half a KiB each.',
    example: 'COUNT',
    fallback: '4096',
    read: wholeNumber(0, 1_000_000),
  }),
  egress_allow: setting({
    doc: 'Private networks that static backends, sign-in providers and destinations of events may be in; none when absent.',
    example: 'CIDR,...',
    read: networks,
  }),
  event_endpoints: setting({
    doc: `Other addresses of services that events are sent to: ${eventServices.join(', ')}.`,
    example: 'NAME=URL,...',
    read: endpoints,
  }),
  oauth_github: managedAt('GitHub'),
  oauth_gitlab: managedAt('GitLab'),
  oauth_google: managedAt('Google'),
  oauth_linkedin: managedAt('LinkedIn'),
  oauth_microsoft: managedAt('Microsoft'),
  oauth_twitch: managedAt('Twitch'),
  oauth_github_url: setting({
    doc: 'GitHub, or a GitHub Enterprise server.',
    example: 'URL',
    fallback: 'https://github.com',
    read: url,
  }),
  oauth_gitlab_url: setting({
    doc: 'GitLab, or a GitLab server of your own.',
    example: 'URL',
    fallback: 'https://gitlab.com',
    read: url,
  }),
} satisfies Record<string, Setting<unknown>>

export type SettingName = keyof typeof settings
type ValueOf<Name extends SettingName> = ReturnType<(typeof settings)[Name]['read']>

/** A setting with a default always has a value; `off` is read as undefined. */
export type Settings = {
  readonly [Name in SettingName]: (typeof settings)[Name] extends { fallback: string }
    ? ValueOf<Name>
    : ValueOf<Name> | undefined
}
