import { isIPv6 } from 'node:net'
import { isLoopback, isPublicAddress, machineAddresses } from '#base/machine-addresses.ts'
import { isPublicName } from '#base/public-suffix.ts'
import type { Defaults } from '#base/read-settings.ts'

/**
 * Defaults on a machine that is reachable from the internet under a public name: its listeners, and all processors.
 * Elsewhere nothing is opened unless configured. The API uses plain HTTP, so it stays on loopback.
 */
export function publicDefaults(
  { domain, public_addresses: given }: Parameters<Defaults>[0],
  isGiven: Parameters<Defaults>[1],
  machine: readonly string[] = machineAddresses(),
): ReturnType<Defaults> {
  if (!isPublicName(domain)) return {}
  const reached = given?.filter(address => !isLoopback(address)) ?? machine.filter(isPublicAddress)
  if (reached.length === 0) return {}
  const only6 = reached.every(address => isIPv6(address))
  const any = only6 ? '[::]' : '0.0.0.0'
  const name = dnsHost(reached, machine)
  // An operator who configured HTTP or HTTPS most likely has DNS elsewhere.
  const isArranged = isGiven('http_addr') || isGiven('https_addr')
  return {
    http_addr: `${any}:80`,
    https_addr: `${any}:443`,
    agent_addr: `${any}:4443`,
    ssh_addr: `${any}:2222`,
    tcp_host: only6 ? '::' : any,
    // A node of a cluster has workers only on request: each of them has links with those of other nodes.
    ...(!isGiven('peer_addr') && { workers: 'auto' }),
    ...(name !== undefined && !isArranged && { dns_addr: `${isIPv6(name) ? `[${name}]` : name}:53` }),
  }
}

/**
 * The single address for DNS. With a wildcard bind, a response might leave from another address than the query came to;
 * behind NAT it is the one that the public address maps to.
 */
export function dnsHost(reached: readonly string[], machine: readonly string[]): string | undefined {
  const only6 = reached.length > 0 && reached.every(address => isIPv6(address))
  const fitting = machine.filter(address => isIPv6(address) === only6)
  return fitting.find(address => reached.includes(address)) ?? fitting[0]
}
