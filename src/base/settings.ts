import { logLevels } from '#base/log-levels.ts'
import {
  address,
  application,
  authorities,
  collector,
  directory,
  domain,
  email,
  endpoints,
  eventServices,
  headers,
  ips,
  logLevel,
  masterKey,
  nameServers,
  networks,
  onOff,
  ports,
  serviceName,
  share,
  text,
  token,
  tracesAddress,
  url,
  wholeNumber,
} from '#base/setting-values.ts'

/** How one setting is written and what it means. Its flag, variable and file key follow from its name. */
export interface Setting<Value> {
  readonly doc: string
  readonly example: string
  /** As text, for people; absent where there is none. */
  readonly fallback?: string
  /** Rejects by throwing with the words that follow "must be". */
  readonly read: (text: string) => Value
  /** Variables of a standard that say the same to many programs, the first one strongest, and how each is read. */
  readonly standard?: Readonly<Record<string, (text: string) => Value>>
}

const setting = <Value, const Spec extends Setting<Value>>(spec: Spec & Setting<Value>): Spec => spec
const managedAt = (provider: string) =>
  setting({
    doc: `Application at ${provider} for endpoints whose owner brings none.`,
    example: 'CLIENT_ID:CLIENT_SECRET',
    read: application,
  })

const shareOf = (doc: string, fallback: string) =>
  setting({ doc, example: 'COUNT', fallback, read: wholeNumber(1, 1_000_000) })

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
    doc: 'Shared base domain. Where it is a public name and the machine has a public address, its own or one of public_addresses, listeners that are not set accept connections from the internet: HTTP on port 80, HTTPS on 443, agents on 4443, ssh on 2222, TCP endpoints, and DNS on port 53 of one address. The API stays on loopback.',
    example: 'DOMAIN',
    fallback: 'adit.localhost',
    read: domain,
  }),
  isolate_hosts: setting({
    doc: 'Keep services under the shared domain from acting on each other in browsers: the Domain of their cookies, the clearing of cookies, and includeSubDomains of HSTS and reports are removed. Turn it off where the domain is on the Public Suffix List, or all endpoints belong to one owner.',
    example: 'SWITCH',
    fallback: 'on',
    read: onOff,
  }),
  reconnect_wait: setting({
    doc: 'Seconds that requests wait for an agent that lost its connection a moment ago, before they are answered with an error; 0: they do not wait.',
    example: 'SECONDS',
    fallback: '5',
    read: wholeNumber(0, 60),
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
  credential_sessions: shareOf('Agent sessions that one credential may have at once.', '5000'),
  credential_tunnels: shareOf('Tunnels that one credential may have at once.', '5000'),
  credential_tcp_ports: shareOf('TCP ports that the tunnels of one credential may have at once.', '500'),
  credential_metadata_kib: shareOf(
    'KiB of metadata and labels of all that one credential has online.',
    '8192',
  ),
  owner_sessions: shareOf('Agent sessions that all credentials of one user may have at once.', '20000'),
  owner_tunnels: shareOf('Tunnels that all credentials of one user may have at once.', '20000'),
  owner_tcp_ports: shareOf(
    'TCP ports that the tunnels of one user may have at once; for members also at most half of those that are handed out.',
    '1000',
  ),
  owner_metadata_kib: shareOf('KiB of metadata and labels of all that one user has online.', '32768'),
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
    doc: 'Faster socket reads through internals of Node. Turn it off if there are problems after an upgrade of Node.',
    example: 'SWITCH',
    fallback: 'on',
    read: onOff,
  }),
  access_log: setting({
    doc: 'Access log as JSON lines: a file, or stdout; none by default.',
    example: 'FILE',
    read: text,
  }),
  traces_endpoint: setting({
    doc: 'Collector of OpenTelemetry that gets traces of requests, as JSON over HTTP at /v1/traces; none when absent.',
    example: 'URL',
    read: tracesAddress,
    standard: {
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: collector,
      OTEL_EXPORTER_OTLP_ENDPOINT: tracesAddress,
    },
  }),
  traces_headers: setting({
    doc: 'Headers for that collector, such as its key.',
    example: 'NAME=VALUE,...',
    read: headers,
    standard: { OTEL_EXPORTER_OTLP_TRACES_HEADERS: headers, OTEL_EXPORTER_OTLP_HEADERS: headers },
  }),
  traces_sample: setting({
    doc: 'Share of requests that are traced, of those that are not part of a trace already.',
    example: 'SHARE',
    fallback: '0.01',
    read: share,
    standard: { OTEL_TRACES_SAMPLER_ARG: share },
  }),
  traces_service: setting({
    doc: 'Name under which traces are shown.',
    example: 'NAME',
    fallback: 'adit',
    read: serviceName,
    standard: { OTEL_SERVICE_NAME: serviceName },
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
