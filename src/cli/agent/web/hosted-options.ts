import { tunnelOptions, type OptionKey } from '#cli/agent/tunnel-options.ts'

/** An option that has no equivalent, or does not exist. */
export class OptionError extends Error {
  override readonly name = 'OptionError'
}

/** Keys that wrappers send along and that mean nothing to a tunnel. */
const ignored = new Set([
  'authtoken',
  'binPath',
  'configPath',
  'host',
  'name',
  'onLogEvent',
  'onStatusChange',
  'onTerminated',
  'path',
  'port',
  'region',
  'web_addr',
])

/** Keys of the hosted service's agent that are called otherwise here. */
const renamed: Readonly<Record<string, OptionKey>> = {
  auth: 'basic_auth',
  bind_tls: 'schemes',
  client_cas: 'mutual_tls_cas',
  hostname: 'domain',
  httpauth: 'basic_auth',
  'ip_restriction.allow_cidrs': 'allow_cidrs',
  'ip_restriction.deny_cidrs': 'deny_cidrs',
  'oauth.oauth_scopes': 'oauth.scopes',
  'request_header.add': 'request_headers.add',
  'request_header.remove': 'request_headers.remove',
  'response_header.add': 'response_headers.add',
  'response_header.remove': 'response_headers.remove',
  subdomain: 'domain',
}

const schemesOf: Readonly<Record<string, readonly string[]>> = {
  true: ['https'],
  false: ['http'],
  both: ['https', 'http'],
}

const pairOf = (text: unknown): [string, string] => {
  const [name = '', ...rest] = String(text).split('=')
  return [name, rest.join('=')]
}

/** Values that are written otherwise there. */
const conversions: Readonly<Record<string, (value: unknown) => unknown>> = {
  auth: value => [value].flat(),
  httpauth: value => [value].flat(),
  bind_tls: value => schemesOf[String(value)] ?? value,
  labels: value => (Array.isArray(value) ? Object.fromEntries(value.map(pairOf)) : value),
  inspect: value => (value === 'true' ? true : value === 'false' ? false : value),
}

export const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a key is a map of options, such as `oauth`. */
const isGroup = (key: string): boolean =>
  [...Object.keys(tunnelOptions), ...Object.keys(renamed)].some(each => each.startsWith(`${key}.`))

/** The options of a tunnel as the hosted service's agent takes them, by the keys that Adit has for them. */
export function hostedOptions(given: Readonly<Record<string, unknown>>): Map<OptionKey, unknown> {
  const options = new Map<OptionKey, unknown>()
  for (const [key, value] of Object.entries(given)) {
    // An absent value is often sent as null.
    if (value === null || ignored.has(key)) continue
    const entries: [string, unknown][] =
      isGroup(key) && isPlainObject(value)
        ? Object.entries(value).map(([inner, each]) => [`${key}.${inner}`, each])
        : [[key, value]]
    for (const [full, each] of entries) options.set(keyOf(full), conversions[full]?.(each) ?? each)
  }
  return options
}

function keyOf(key: string): OptionKey {
  if (key === 'policy' || key === 'traffic_policy')
    throw new OptionError(`field ${key}: Traffic Policy is not supported`)
  const own = renamed[key] ?? key
  if (own in tunnelOptions) return own as OptionKey
  throw new OptionError(`field ${key.slice(0, 100)} not found in type config.HTTPv2Tunnel`)
}
