import { parseHostPort } from '#base/hosts.ts'
import type { SourceRow } from '#registry/records/source.ts'
import { readSshPublicKey } from '#pki/ssh-key.ts'

/** A text field; empty if it is absent. */
export function textOf(row: SourceRow, field: string): string {
  const value = row.body[field]
  return typeof value === 'string' ? value : ''
}

const portsOf = (addresses: readonly string[]): string[] =>
  addresses.flatMap(address => parseHostPort(address)?.port.toString() ?? [])

export const hostportsOf = (row: SourceRow): readonly string[] =>
  (row.body['hostports'] as readonly string[] | null) ?? []

export const tokenKey = (row: SourceRow): string[] => [textOf(row, 'token_hash')]
/** The shared domain has one certificate for itself and all names under it; it is validated at its own name. */
export const coversAll = (row: SourceRow): boolean =>
  textOf(row, 'acme_challenge_cname_target') === `_acme-challenge.${textOf(row, 'domain')}`

export const domainKey = (row: SourceRow): string[] => [textOf(row, 'domain')]
export const addrPortKey = (row: SourceRow): string[] => portsOf([textOf(row, 'addr')])
export const edgePortKeys = (row: SourceRow): string[] => portsOf(hostportsOf(row))
/** The names that agents may connect to; see the kind `agent_ingress`. */
export const ingressKeys = (row: SourceRow): string[] => [
  textOf(row, 'domain'),
  ...((row.body['region_domains'] as readonly string[] | null) ?? []),
]
export const parentKey = (row: SourceRow): string[] => (row.parent === null ? [] : [row.parent])
export const policyKey = (row: SourceRow): string[] => [textOf(row, 'ip_policy')]
export const typeKey = (row: SourceRow): string[] => [textOf(row, 'type')]

/** A CA validates by the token over HTTP, and by the name in a TLS handshake. */
export function challengeKey(row: SourceRow): string[] {
  const type = textOf(row, 'type')
  if (type === 'http-01') return [`${type} ${textOf(row, 'token')}`]
  return type === 'tls-alpn-01' ? [`${type} ${textOf(row, 'name')}`] : []
}

export const edgeNameKeys = (row: SourceRow): string[] =>
  hostportsOf(row).flatMap(address => parseHostPort(address)?.host ?? [])

export function fingerprintKey(row: SourceRow): string[] {
  try {
    return [readSshPublicKey(textOf(row, 'public_key')).fingerprint]
  } catch {
    // An invalid key matches nothing.
    return []
  }
}

/** The normalized form of one label. */
export const labelText = (name: string, value: string): string => `${name}=${value}`

export const labelsOf = (row: SourceRow): Readonly<Record<string, string>> =>
  (row.body['labels'] as Readonly<Record<string, string>> | null) ?? {}

/** A group is indexed under one of its labels; a tunnel without it cannot belong to the group. */
export const groupKey = (row: SourceRow): string[] =>
  Object.entries(labelsOf(row))
    .map(([name, value]) => labelText(name, value))
    .slice(0, 1)

/** Whether these labels include all of those. */
export const carries = (
  labels: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
): boolean => Object.entries(wanted).every(([name, value]) => labels[name] === value)
