import { isIP } from 'node:net'
import { address, choice, choices, list, pairs, text, yesNo } from '#base/value-forms.ts'
import { moduleOptions } from '#tunnel/module-options.ts'
import {
  addressed,
  every,
  type MainPart,
  named,
  option,
  type TunnelOption,
  web,
} from '#tunnel/tunnel-option.ts'

const isCredential = (item: string): boolean => item.indexOf(':') > 0
const isHeader = (item: string): boolean => /^[^\s:]+:/.test(item)
const isNetwork = (item: string): boolean => {
  const [, ip = '', bits = ''] = /^([0-9a-fA-F:.]+)\/(\d{1,3})$/.exec(item) ?? []
  return isIP(ip) !== 0 && Number(bits) <= (isIP(ip) === 4 ? 32 : 128)
}

/** Every tunnel option. A dot in a key is a map in YAML. */
export const tunnelOptions = {
  domain: option({
    form: text('name', 'a name under the shared domain or a full domain'),
    doc: 'Name under the shared domain, or a full domain.',
    group: 'Address',
    kinds: named,
    otherFlags: ['--name'],
    aliases: ['--hostname', '--subdomain'],
  }),
  url: option({
    form: text('url', 'a URL such as https://name.example.com'),
    doc: 'The full public URL.',
    group: 'Address',
    kinds: addressed,
  }),
  remote_addr: option({
    form: address('host:port|port', 'a port or host:port'),
    doc: 'Public port of the gateway.',
    group: 'Address',
    kinds: ['tcp'],
    otherFlags: ['--port'],
  }),
  labels: option({
    form: pairs,
    doc: 'Label for tunnel-group backends, instead of an address. Repeatable.',
    group: 'Address',
    kinds: every,
    flag: '--label',
  }),
  schemes: option({
    form: choices(['https', 'http']),
    doc: 'https, http or both; default https, and also http if the gateway is on this machine.',
    group: 'Address',
    kinds: web,
    flag: '--scheme',
  }),
  metadata: option({
    form: text('text'),
    doc: 'Any text; the API shows it with the tunnel.',
    group: 'Address',
    kinds: every,
  }),
  description: option({
    form: text('text'),
    doc: 'Any text; the API shows it if there is no metadata.',
    group: 'Address',
    kinds: every,
  }),
  pooling_enabled: option({
    form: yesNo,
    doc: 'Share the address with other agents of the same owner that enable this too.',
    group: 'Address',
    kinds: addressed,
  }),
  basic_auth: option({
    form: list('user:password', 'a list of user:password', isCredential),
    doc: 'Require HTTP basic auth. Repeatable.',
    group: 'Access',
    kinds: web,
    module: 'BasicAuth.credentials',
    secret: true,
    aliases: ['--auth'],
  }),
  host_header: option({
    form: text('rewrite|value', 'rewrite or a host'),
    doc: 'Host header sent to the service; rewrite: the local address.',
    group: 'Traffic',
    kinds: web,
    unsetBy: 'preserve',
  }),
  'request_headers.add': option({
    form: list('name:value', 'a list of name: value', isHeader),
    doc: 'Add a request header. Repeatable.',
    group: 'Traffic',
    kinds: web,
    module: 'RequestHeaders.add',
    flag: '--request-header-add',
  }),
  'request_headers.remove': option({
    form: list('name', 'a list of names'),
    doc: 'Remove a request header. Repeatable.',
    group: 'Traffic',
    kinds: web,
    module: 'RequestHeaders.remove',
    flag: '--request-header-remove',
  }),
  'response_headers.add': option({
    form: list('name:value', 'a list of name: value', isHeader),
    doc: 'Add a response header. Repeatable.',
    group: 'Traffic',
    kinds: web,
    module: 'ResponseHeaders.add',
    flag: '--response-header-add',
  }),
  'response_headers.remove': option({
    form: list('name', 'a list of names'),
    doc: 'Remove a response header. Repeatable.',
    group: 'Traffic',
    kinds: web,
    module: 'ResponseHeaders.remove',
    flag: '--response-header-remove',
  }),
  allow_cidrs: option({
    form: list('network', 'a list of networks such as 10.0.0.0/8', isNetwork),
    doc: 'Allow only clients from this network. Repeatable.',
    group: 'Access',
    kinds: addressed,
    module: 'IPRestriction.allow_cidrs',
    flag: '--allow-cidr',
    aliases: ['--cidr-allow'],
  }),
  deny_cidrs: option({
    form: list('network', 'a list of networks such as 10.0.0.0/8', isNetwork),
    doc: 'Deny clients from this network. Repeatable.',
    group: 'Access',
    kinds: addressed,
    module: 'IPRestriction.deny_cidrs',
    flag: '--deny-cidr',
    aliases: ['--cidr-deny'],
  }),
  ...moduleOptions,
  proxy_proto: option<0 | 1 | 2>({
    form: choice([1, 2]),
    doc: 'Version of the PROXY protocol header sent to the service.',
    group: 'Service',
    kinds: addressed,
    aliases: ['--upstream-proxy-protocol'],
  }),
  upstream_protocol: option({
    form: choice(['http1', 'http2']),
    doc: 'Protocol of the service.',
    group: 'Service',
    kinds: ['http', 'tunnel'],
    aliases: ['--app-protocol'],
  }),
  crt: option({
    form: text('file', 'the path of a file'),
    doc: 'Certificate, to terminate TLS in this agent.',
    group: 'TLS',
    kinds: ['tls'],
  }),
  key: option({
    form: text('file', 'the path of a file'),
    doc: 'Private key of the certificate.',
    group: 'TLS',
    kinds: ['tls'],
  }),
  verify_upstream: option({
    form: yesNo,
    doc: 'Do not verify the certificate of an https service.',
    group: 'Service',
    kinds: every,
    flag: '--no-verify-upstream',
    aliases: ['--upstream-tls-verify'],
  }),
  upstream_tls_verify_cas: option({
    form: text('file|host', 'the path of a file, or host'),
    doc: 'CAs for the certificate of an https service; host: those of this machine.',
    group: 'Service',
    kinds: every,
  }),
  gateway_capture: option({
    form: yesNo,
    doc: 'Capture headers and bodies of all requests at the gateway, for the dashboard and adit requests.',
    group: 'Inspection',
    kinds: web,
    flag: '--capture',
  }),
  inspect: option({
    form: yesNo,
    doc: 'False: requests of this tunnel are neither listed nor captured.',
    group: 'Inspection',
    kinds: ['http', 'tunnel'],
  }),
}

export type OptionKey = keyof typeof tunnelOptions

/** The rows of the table, with their types erased. */
export const optionRows = Object.entries(tunnelOptions) as [
  OptionKey,
  TunnelOption<unknown> & Partial<MainPart>,
][]

/** The keys of a tunnel in YAML: those with a dot are maps. */
export const tunnelKeys: readonly string[] = [
  'proto',
  'addr',
  ...new Set(optionRows.map(([key]) => key.split('.')[0] ?? key)),
]

export const flagName = ([key, { flag }]: (typeof optionRows)[number]): string =>
  flag ?? `--${key.replaceAll('_', '-')}`

/** All flags that set an option. */
export const flagsFor = (row: (typeof optionRows)[number]): string[] => {
  const [, { otherFlags = [], aliases = [] }] = row
  return [flagName(row), ...otherFlags, ...aliases]
}
