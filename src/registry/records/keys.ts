import { parseHostPort } from '#base/hosts.ts'
import type { agentIngress } from '#contract/kinds/agent-ingress.ts'
import type { tunnelGroupBackend } from '#contract/kinds/backends.ts'
import type { credential } from '#contract/kinds/credential.ts'
import type { httpsEdge, tcpEdge, tlsEdge } from '#contract/kinds/edges.ts'
import type { ipPolicyRule } from '#contract/kinds/ip-policy-rule.ts'
import type { ipRestriction } from '#contract/kinds/ip-restriction.ts'
import type { reservedAddr } from '#contract/kinds/reserved-addr.ts'
import type { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import type { sshCredential } from '#contract/kinds/ssh-credential.ts'
import type { RowOf, SourceRow } from '#registry/records/source.ts'
import { readSshPublicKey } from '#pki/ssh-key.ts'

/** A text field; empty if it is absent, or not a text in a damaged row. */
export function textOf<Row extends SourceRow<object>>(row: Row, field: keyof Row['body'] & string): string {
  const value = (row.body as SourceRow['body'])[field]
  return typeof value === 'string' ? value : ''
}

const portsOf = (addresses: readonly string[]): string[] =>
  addresses.flatMap(address => parseHostPort(address)?.port.toString() ?? [])

/** An edge of any kind. */
type EdgeRow = RowOf<typeof httpsEdge> | RowOf<typeof tlsEdge> | RowOf<typeof tcpEdge>

export const hostportsOf = ({ body }: Pick<EdgeRow, 'body'>): readonly string[] => body.hostports ?? []

export const tokenKey = (row: RowOf<typeof credential>): string[] => [textOf(row, 'token_hash')]
/** The shared domain has one certificate for itself and all names under it; it is validated at its own name. */
export const coversAll = (row: RowOf<typeof reservedDomain>): boolean =>
  textOf(row, 'acme_challenge_cname_target') === `_acme-challenge.${textOf(row, 'domain')}`

export const domainKey = (row: RowOf<typeof reservedDomain>): string[] => [textOf(row, 'domain')]
export const addrPortKey = (row: RowOf<typeof reservedAddr>): string[] => portsOf([textOf(row, 'addr')])
export const edgePortKeys = (row: RowOf<typeof tcpEdge>): string[] => portsOf(hostportsOf(row))
/** The names that agents may connect to; see the kind `agent_ingress`. */
export const ingressKeys = (row: RowOf<typeof agentIngress>): string[] => [
  textOf(row, 'domain'),
  ...(row.body.region_domains ?? []),
]
export const parentKey = (row: SourceRow): string[] => (row.parent === null ? [] : [row.parent])
export const policyKey = (row: RowOf<typeof ipPolicyRule>): string[] => [textOf(row, 'ip_policy')]
export const typeKey = (row: RowOf<typeof ipRestriction>): string[] => [textOf(row, 'type')]

/** A CA validates by the token over HTTP, and by the name in a TLS handshake. */
export function challengeKey(row: SourceRow): string[] {
  const type = textOf(row, 'type')
  if (type === 'http-01') return [`${type} ${textOf(row, 'token')}`]
  return type === 'tls-alpn-01' ? [`${type} ${textOf(row, 'name')}`] : []
}

export const edgeNameKeys = (row: RowOf<typeof httpsEdge> | RowOf<typeof tlsEdge>): string[] =>
  hostportsOf(row).flatMap(address => parseHostPort(address)?.host ?? [])

export function fingerprintKey(row: RowOf<typeof sshCredential>): string[] {
  try {
    return [readSshPublicKey(textOf(row, 'public_key')).fingerprint]
  } catch {
    // An invalid key matches nothing.
    return []
  }
}

/** The normalized form of one label. */
export const labelText = (name: string, value: string): string => `${name}=${value}`

export const labelsOf = ({ body }: RowOf<typeof tunnelGroupBackend>): Readonly<Record<string, string>> =>
  body.labels ?? {}

/** A group is indexed under one of its labels; a tunnel without it cannot belong to the group. */
export const groupKey = (row: RowOf<typeof tunnelGroupBackend>): string[] =>
  Object.entries(labelsOf(row))
    .map(([name, value]) => labelText(name, value))
    .slice(0, 1)

/** Whether these labels include all of those. */
export const carries = (
  labels: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>>,
): boolean => Object.entries(wanted).every(([name, value]) => labels[name] === value)
