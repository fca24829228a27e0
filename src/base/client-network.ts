import { ipv6Groups, plainAddress } from '#base/addresses.ts'

/** Enough for concurrent clients; recomputing a network costs a microsecond. */
const MAX_KNOWN = 4096
const known = new Map<string, string>()

/**
 * What counts as one client: an IPv4 address, or an IPv6 /64, the least that an IPv6 customer has. `ip` as sockets
 * report it, IPv4 in its own form.
 */
export function clientNetwork(ip: string): string {
  if (!ip.includes(':')) return ip
  const before = known.get(ip)
  if (before !== undefined) return before
  if (known.size >= MAX_KNOWN) known.clear()
  const network = networkOf(ip)
  known.set(ip, network)
  return network
}

function networkOf(ip: string): string {
  const plain = plainAddress(ip)
  const groups = ipv6Groups(plain)
  if (groups === undefined) return plain
  const network = groups.slice(0, 4).map(group => group.toString(16))
  return `${network.join(':')}::/64`
}

/** In the form that agents receive. */
export const clientAddress = ({ ip, port }: { readonly ip: string; readonly port: number }): string =>
  ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`

/** What counts as one client, for an address in the form that agents receive. */
export function clientOf(address: string): string {
  const colon = address.lastIndexOf(':')
  const ip = address.startsWith('[') ? address.slice(1, colon - 1) : address.slice(0, colon)
  return clientNetwork(ip)
}
