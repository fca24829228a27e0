import { fail } from '#base/errors.ts'
import { covers, parseHostPort } from '#base/hosts.ts'
import type { EndpointAddress } from '#registry/directory.ts'

type Labels = Readonly<Record<string, string>>

const PREFIX = 'bind:'

function allowsAddress(rule: string, address: EndpointAddress): boolean {
  const target = rule.slice(PREFIX.length).toLowerCase()
  if (target.includes('=')) return false
  const hostPort = parseHostPort(target)
  if (address.scheme !== 'tcp') return hostPort === undefined && covers(target, address.host)
  return hostPort?.port === address.port && covers(hostPort.host, address.host)
}

/** Whether a credential's rules allow this bind. An empty list allows everything. */
export function mayBind(
  acl: readonly string[],
  address: EndpointAddress | undefined,
  labels: Labels,
): boolean {
  if (acl.length === 0 || acl.includes('*')) return true
  if (address !== undefined) return acl.some(rule => rule.startsWith(PREFIX) && allowsAddress(rule, address))
  // Every label attracts traffic to the tunnel, so every one must be allowed.
  return Object.entries(labels).every(([name, value]) => acl.includes(`${PREFIX}${name}=${value}`))
}

export const addressText = (address: EndpointAddress): string =>
  address.scheme === 'tcp' ? `${address.host}:${address.port}` : address.host

const labelsText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ')

/** Rejects what the list does not allow. */
export function requireMayBind(
  acl: readonly string[],
  address: EndpointAddress | undefined,
  labels: Labels,
): void {
  if (mayBind(acl, address, labels)) return
  fail('acl_refused', {
    address: address === undefined ? labelsText(labels) : addressText(address),
    allowed: acl.join(', '),
  })
}
