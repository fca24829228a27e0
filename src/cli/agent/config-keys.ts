import { isScalar, type Pair } from 'yaml'
import { nearest } from '#base/nearest.ts'
import { keyOf, pairsOf, type ConfigText } from '#cli/agent/config-file.ts'
import { ConfigError } from '#cli/failure.ts'

/** Names of other agents for our options. */
const otherNames: Readonly<Record<string, string>> = {
  hostname: 'domain',
  subdomain: 'domain',
  name: 'domain',
  port: 'addr',
  auth: 'basic_auth',
  bind_tls: 'schemes',
  scheme: 'schemes',
  ip_restriction: 'allow_cidrs',
  request_header: 'request_headers',
  response_header: 'response_headers',
  server_addr: 'server',
  connect_url: 'server',
  root_cas: 'ca',
  connect_cas: 'ca',
  endpoints: 'tunnels',
}

/** The pairs of a node that must be a map. */
export function mapOf({ document, at }: ConfigText, node: unknown, what: string): Pair[] {
  const pairs = pairsOf(node, document)
  if (pairs === undefined)
    throw new ConfigError(`${at(node)}: ${what} must be lines of the form "name: value"`)
  return pairs
}

export function knownKey(text: ConfigText, pair: Pair, known: readonly string[]): string {
  const name = keyOf(pair.key)
  return isScalar(pair.key) && known.includes(name) ? name : unknownKey(text, pair, known)
}

/** Throws with the position of an unknown key, and the most similar known one. */
export function unknownKey({ at }: ConfigText, { key }: Pair, known: readonly string[]): never {
  const name = keyOf(key).slice(0, 100)
  const other = otherNames[name]
  const meant = other !== undefined && known.includes(other) ? other : nearest(name, known)
  const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`
  throw new ConfigError(
    `${at(key)}: "${name}" is unknown.${hint} Allowed are ${[...new Set(known)].join(', ')}`,
  )
}
