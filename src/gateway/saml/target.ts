import { fail } from '#base/errors.ts'
import { covers, normalName, parseHostPort } from '#base/hosts.ts'
import type { Facts } from '#gateway/facts.ts'
import { hostportsOf, textOf } from '#gateway/records/keys.ts'
import type { Records } from '#gateway/records/records.ts'
import type { SourceRow } from '#gateway/records/source.ts'
import { originOf } from '#gateway/sign-in/paths.ts'
import { returnTarget } from '#gateway/sign-in/flow.ts'

export interface Target {
  readonly origin: string
  readonly returnTo: string
}

interface Parts {
  readonly records: Records
  readonly facts: Facts
}

/**
 * Where the provider sends somebody who did not come from us. Only addresses that have the place count: anything else
 * would be a way to send people anywhere, with a sign-in in their hands.
 */
export function unaskedTarget(row: SourceRow, relayState: string, { records, facts }: Parts): Target {
  const url = /^https?:\/\//i.test(relayState) ? URL.parse(relayState) : null
  if (url === null || url.username !== '' || url.password !== '') return fail('saml_target_missing')
  const scheme = url.protocol === 'https:' ? 'https' : 'http'
  const host = normalName(url.hostname)
  const origin = originOf(scheme, host, scheme === 'https' ? facts.httpsPort : facts.httpPort)
  if (url.origin !== origin || !servesAt(row, scheme, host, records)) return notServed(row, url.host)
  return { origin, returnTo: returnTarget(url.pathname + url.search) }
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
  const edge = records.get('https_edge', row.parent ?? '')
  const names = edge ? hostportsOf(edge).flatMap(address => parseHostPort(address)?.host ?? []) : []
  return scheme === 'https' && names.some(name => covers(name, host))
}
