import { isIPv4, isIPv6 } from 'node:net'
import { ipv6Groups, plainAddress } from '#base/addresses.ts'
import { PROXY_SIGNATURE, type ProxyEnd } from '#tunnel/proxy-protocol.ts'

const PROXY_COMMAND = 0x21
const TCP_OVER_IPV4 = 0x11
const TCP_OVER_IPV6 = 0x21

/** The PROXY protocol header with the client's address, in version 1 (text) or 2 (binary). */
export function encodeProxyProtocol(version: 1 | 2, source: ProxyEnd, destination: ProxyEnd): Buffer {
  const from = plainAddress(source.ip)
  const to = plainAddress(destination.ip)
  // Both addresses must be of one family; mixed ones are written as IPv6.
  const narrow = isIPv4(from) && isIPv4(to)
  const [a, b] = narrow ? [from, to] : [wide(from), wide(to)]
  return version === 1
    ? Buffer.from(
        `PROXY ${narrow ? 'TCP4' : 'TCP6'} ${a} ${b} ${source.port} ${destination.port}\r\n`,
        'latin1',
      )
    : binary(narrow ? TCP_OVER_IPV4 : TCP_OVER_IPV6, a, b, [source.port, destination.port])
}

function binary(family: number, from: string, to: string, ports: readonly number[]): Buffer {
  const addresses = [...octets(from), ...octets(to), ...ports.flatMap(port => [port >>> 8, port & 0xff])]
  return Buffer.concat([
    PROXY_SIGNATURE,
    Buffer.from([PROXY_COMMAND, family, addresses.length >>> 8, addresses.length & 0xff, ...addresses]),
  ])
}

const wide = (ip: string): string => (isIPv4(ip) ? `::ffff:${ip}` : isIPv6(ip) ? ip : '::')

function octets(ip: string): number[] {
  if (isIPv4(ip)) return ip.split('.').map(Number)
  const groups = ipv6Groups(ip) ?? Array<number>(8).fill(0)
  return groups.flatMap(group => [group >>> 8, group & 0xff])
}
