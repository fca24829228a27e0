/** What a key of the hosted agent's file becomes here. */
export type Translation =
  | { readonly set: Readonly<Record<string, unknown>> }
  /** No equivalent, and the rest works without it. */
  | { readonly ignored: string }
  /** No equivalent, and without it the tunnel would not do what its configuration requires. */
  | { readonly missing: string }

type Translate = (raw: unknown) => Translation

const same =
  (key: string): Translate =>
  raw => ({ set: { [key]: raw } })
const ignored =
  (reason: string): Translate =>
  () => ({ ignored: reason })
const nothing: Translation = { set: {} }

const noEquivalent = ignored('has no equivalent; the agent works without it')

function server(raw: unknown): Translation {
  const hasPort = typeof raw !== 'string' || /:\d+$/.test(raw)
  return { set: { server: hasPort ? raw : `${raw}:443` } }
}

const authority = (raw: unknown): Translation => (raw === 'trusted' ? nothing : { set: { ca: raw } })

/** Keys of the agent: version 2 has them at the root, version 3 under "agent". Those of the same name are not listed. */
export const hostedAgentKeys: Readonly<Record<string, Translate>> = {
  server_addr: server,
  connect_url: server,
  root_cas: authority,
  connect_cas: authority,
  update: same('update_check'),
  http_proxy: same('proxy_url'),
  socks5_proxy: raw => ({ set: { proxy_url: `socks5://${String(raw).replace(/^socks5:\/\//, '')}` } }),
  region: ignored('is ignored: "server" selects the gateway'),
  api_key: ignored('is not read from this file: set ADIT_API_KEY for "adit api"'),
  connect_interface: noEquivalent,
  connect_timeout: noEquivalent,
  console_ui: noEquivalent,
  console_ui_color: noEquivalent,
  crl_noverify: noEquivalent,
  crl_url: noEquivalent,
  dns_resolver_ips: noEquivalent,
  heartbeat_interval: noEquivalent,
  heartbeat_tolerance: noEquivalent,
  local_storage: noEquivalent,
  remote_management: noEquivalent,
  update_channel: noEquivalent,
}

const noPolicy = (): Translation => ({
  missing:
    'has no equivalent: use options such as basic_auth, oauth, allow_cidrs and request_headers, or an edge (docs/edges.md)',
})

/** The schemes of `bind_tls`. */
export const bindTlsSchemes: Readonly<Record<string, readonly string[]>> = {
  true: ['https'],
  false: ['http'],
  both: ['https', 'http'],
}

function labels(raw: unknown): Translation {
  if (!Array.isArray(raw)) return { set: { labels: raw } }
  return { set: { labels: Object.fromEntries(raw.map(each => String(each).split(/=(.*)/s, 2))) } }
}

/** A map whose keys become options of ours. */
const parts =
  (names: Readonly<Record<string, string>>): Translate =>
  raw => {
    const entries = Object.entries((raw ?? {}) as Record<string, unknown>)
    const unknown = entries.find(([key]) => names[key] === undefined)
    if (unknown) return { missing: `has the key "${unknown[0]}", which has no equivalent` }
    return { set: Object.fromEntries(entries.map(([key, value]) => [names[key] ?? key, value])) }
  }

/** Keys of a tunnel that have another name or form here. */
export const hostedTunnelKeys: Readonly<Record<string, Translate>> = {
  hostname: same('domain'),
  subdomain: same('domain'),
  auth: raw => ({ set: { basic_auth: [raw] } }),
  bind_tls: raw => ({ set: { schemes: bindTlsSchemes[String(raw)] ?? raw } }),
  client_cas: same('mutual_tls_cas'),
  host_header: raw => (raw === 'preserve' ? nothing : { set: { host_header: raw } }),
  labels,
  ip_restriction: parts({ allow_cidrs: 'allow_cidrs', deny_cidrs: 'deny_cidrs' }),
  request_header: parts({ add: 'request_headers.add', remove: 'request_headers.remove' }),
  response_header: parts({ add: 'response_headers.add', remove: 'response_headers.remove' }),
  oauth: parts({
    provider: 'oauth.provider',
    scopes: 'oauth.scopes',
    oauth_scopes: 'oauth.scopes',
    allow_emails: 'oauth.allow_emails',
    allow_domains: 'oauth.allow_domains',
    client_id: 'oauth.client_id',
    client_secret: 'oauth.client_secret',
  }),
  terminate_at: raw =>
    raw === 'edge'
      ? { missing: 'edge has no equivalent: use proto http, where the gateway terminates TLS' }
      : nothing,
  policy: noPolicy,
  policy_inbound: noPolicy,
  policy_outbound: noPolicy,
  traffic_policy: noPolicy,
  traffic_policy_file: noPolicy,
}

const upstream: Translate = raw => {
  const { url, protocol, proxy_protocol: proxy } = (raw ?? {}) as Record<string, unknown>
  return {
    set: {
      ...(url !== undefined && { addr: upstreamAddress(url) }),
      ...(protocol !== undefined && { upstream_protocol: protocol }),
      ...(proxy !== undefined && { proxy_proto: proxy }),
    },
  }
}

/** `https://` is this machine, and a host alone is port 80 there. */
function upstreamAddress(raw: unknown): unknown {
  if (typeof raw !== 'string') return raw
  if (/^https?:\/\/$/.test(raw)) return `${raw}localhost`
  const hasPort = /^\d+$|:\d+$|^\w+:\/\/|^file:|^unix:/.test(raw)
  return hasPort ? raw : `http://${raw}`
}

function address(raw: unknown): Translation {
  const [, scheme = 'https', rest = ''] = /^(?:(https?|tcp|tls):\/\/)?(.*)$/s.exec(String(raw)) ?? []
  const proto = scheme === 'https' ? 'http' : scheme
  const where = rest === '' ? {} : String(raw).includes('://') ? { url: raw } : { domain: rest }
  return { set: { proto, ...where, ...(scheme === 'http' && rest === '' && { schemes: ['http'] }) } }
}

function termination(raw: unknown): Translation {
  const given = (raw ?? {}) as Record<string, unknown>
  const cas = given['mutual_tls_certificate_authorities']
  if (Array.isArray(cas) && cas.length > 1)
    return { missing: 'has several mutual_tls_certificate_authorities: put them into one file' }
  return {
    set: {
      crt: given['server_certificate'],
      key: given['server_private_key'],
      ...(Array.isArray(cas) && cas.length > 0 && { mutual_tls_cas: cas[0] }),
    },
  }
}

/** Keys of an endpoint of version 3. */
export const hostedEndpointKeys: Readonly<Record<string, Translate>> = {
  url: address,
  upstream,
  bindings: raw =>
    [raw].flat().every(each => each === 'public')
      ? nothing
      : { missing: 'other than public has no equivalent: use a tunnel with labels and an edge' },
  agent_tls_termination: termination,
  traffic_policy: noPolicy,
  traffic_policy_file: noPolicy,
  metadata: same('metadata'),
  description: same('description'),
  pooling_enabled: same('pooling_enabled'),
  inspect: same('inspect'),
}
