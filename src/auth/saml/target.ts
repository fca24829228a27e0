import { httpsEdge } from '#contract/kinds/edges.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import { fail } from '#base/errors.ts'
import { covers, normalName, parseHostPort } from '#base/hosts.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import { hostportsOf, textOf } from '#registry/records/keys.ts'
import type { Records } from '#registry/records/records.ts'
import type { SourceRow } from '#registry/records/source.ts'
import { originOf } from '#auth/sign-in/paths.ts'
import { returnTarget } from '#auth/sign-in/flow.ts'

interface ReturnTarget {
  readonly origin: string
  readonly returnTo: string
}

interface Parts {
  readonly records: Records
  readonly info: GatewayInfo
}

/** A path on a host. Browsers may treat two leading slashes of either kind, or a blank, as another host. */
const PATH = /^\/(?![/\\])[^\s\\]*$/

/**
 * The target of an IdP-initiated sign-in. Only URLs of the realm count: anything else would be an open redirect with a
 * sign-in attached. Without a RelayState, or with a path, it is a host of the realm.
 */
export function idpInitiatedTarget(row: SourceRow, relayState: string, parts: Parts): ReturnTarget {
  if (/^https?:\/\//i.test(relayState)) return namedTarget(row, relayState, parts)
  const home = relayState === '' || PATH.test(relayState) ? homeOf(row, parts) : undefined
  if (home === undefined) return fail('saml_target_missing')
  if (relayState === '') return home
  const url = URL.parse(relayState, home.origin)
  if (url?.origin !== home.origin) return fail('saml_target_missing')
  return { origin: home.origin, returnTo: returnTarget(url.pathname + url.search) }
}

function namedTarget(row: SourceRow, address: string, { records, info }: Parts): ReturnTarget {
  const url = URL.parse(address)
  if (url === null || url.username !== '' || url.password !== '') return fail('saml_target_missing')
  const scheme = url.protocol === 'https:' ? 'https' : 'http'
  const host = normalName(url.hostname)
  const origin = originOf(scheme, host, scheme === 'https' ? info.httpsPort : info.httpPort)
  // Sign-in needs HTTPS wherever there is a listener for it.
  const isUsable = scheme === 'https' || info.httpsPort === undefined
  if (!isUsable || url.origin !== origin || !servesAt(row, scheme, host, records))
    return notServed(row, url.host)
  return { origin, returnTo: returnTarget(url.pathname + url.search) }
}

/**
 * The first host and the path of a route, or the only host of an endpoint configuration; undefined when there is none.
 */
function homeOf(row: SourceRow, { records, info }: Parts): ReturnTarget | undefined {
  const [host, path] =
    row.kind === 'https_edge_route' ? routeHome(row, records) : [onlyHostOf(row, records), '/']
  if (host === undefined) return undefined
  return { origin: originOf('https', host, info.httpsPort), returnTo: returnTarget(path) }
}

function routeHome(route: SourceRow, records: Records): [host: string | undefined, path: string] {
  const match = textOf(route, 'match')
  const slash = match.indexOf('/')
  const own = slash < 0 ? match : match.slice(0, slash)
  const path = slash < 0 ? '/' : match.slice(slash)
  const names = edgeNames(route, records)
  const served = [own, ...names].filter(name => names.some(each => covers(each, name)))
  const host = served.find(name => !name.startsWith('*.'))
  return [host, path]
}

function onlyHostOf(configuration: SourceRow, records: Records): string | undefined {
  const names = [...records.all(reservedDomain)]
    .filter(domain => textOf(domain, 'https_endpoint_configuration') === configuration.id)
    .map(domain => textOf(domain, 'domain'))
  const [only, second] = names
  return second === undefined && !only?.startsWith('*.') ? only : undefined
}

function edgeNames(route: SourceRow, records: Records): string[] {
  const edge = records.get(httpsEdge, route.parent ?? '')
  return edge ? hostportsOf(edge).flatMap(address => parseHostPort(address)?.host ?? []) : []
}

function notServed(row: SourceRow, target: string): never {
  if (row.kind === 'https_edge_route') return fail('saml_target_edge', { target, id: row.parent ?? '' })
  return fail('saml_target_config', { target, id: row.id })
}

/** Whether a host has the route or endpoint configuration. */
export function servesAt(row: SourceRow, scheme: 'http' | 'https', host: string, records: Records): boolean {
  if (row.kind !== 'https_edge_route') {
    const domain = records.reservedDomain(host)
    return domain !== undefined && textOf(domain, `${scheme}_endpoint_configuration`) === row.id
  }
  return scheme === 'https' && edgeNames(row, records).some(name => covers(name, host))
}
