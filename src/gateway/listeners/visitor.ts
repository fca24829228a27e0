import type { Socket } from 'node:net'
import { clientNetwork } from '#base/client-network.ts'
import type { Visitor } from '#gateway/exchange.ts'

/** Who opened a connection, whatever is spoken on it. */
export type Guest = Omit<Visitor, 'scheme'>

/** As agents are told it. */
export const clientAddress = ({ ip, port }: Pick<Guest, 'ip' | 'port'>): string =>
  ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`

/** What counts as one client, of an address as agents are told it. */
export function clientOf(address: string): string {
  const colon = address.lastIndexOf(':')
  const ip = address.startsWith('[') ? address.slice(1, colon - 1) : address.slice(0, colon)
  return clientNetwork(ip)
}

/** IPv4 through a socket of both families is shown as IPv4; the zone of a link-local address means nothing to others. */
export function plainAddress(address: string): string {
  if (address.startsWith('::ffff:') && address.includes('.')) return address.slice(7)
  const zone = address.indexOf('%')
  return zone < 0 ? address : address.slice(0, zone)
}

/** Undefined when it has left already. `since` is when it came, where that is longer ago. */
export function guestOf(
  socket: Socket,
  serverName: string | undefined,
  since = performance.now(),
): Guest | undefined {
  const { remoteAddress, remotePort, localAddress, localPort } = socket
  if (remoteAddress === undefined || remotePort === undefined) return undefined
  return {
    ip: plainAddress(remoteAddress),
    port: remotePort,
    localIp: plainAddress(localAddress ?? ''),
    localPort: localPort ?? 0,
    serverName,
    since,
  }
}
