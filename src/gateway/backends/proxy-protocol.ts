import { isIPv4, isIPv6 } from 'node:net'
import { canonicalAddress } from '#base/addresses.ts'

export interface ProxyPeer {
  readonly ip: string
  readonly port: number
}

const SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
const PROXY_COMMAND = 0x21
const TCP_OVER_IPV4 = 0x11
const TCP_OVER_IPV6 = 0x21
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** The PROXY protocol header with the client's address, in version 1 (text) or 2 (binary). */
export function encodeProxyProtocol(version: 1 | 2, source: ProxyPeer, destination: ProxyPeer): Buffer {
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
    SIGNATURE,
    Buffer.from([PROXY_COMMAND, family, addresses.length >>> 8, addresses.length & 0xff, ...addresses]),
  ])
}

/** Dual-stack sockets report IPv4 as IPv4-mapped IPv6. */
function plainAddress(ip: string): string {
  const [address = ''] = ip.split('%')
  return MAPPED.exec(address)?.[1] ?? address
}

const wide = (ip: string): string => (isIPv4(ip) ? `::ffff:${ip}` : isIPv6(ip) ? ip : '::')

function octets(ip: string): number[] {
  if (isIPv4(ip)) return ip.split('.').map(Number)
  const dotted = /^::ffff:(\d+)\.(\d+)\.(\d+)\.(\d+)$/i.exec(ip)
  if (dotted) return [...Array<number>(10).fill(0), 0xff, 0xff, ...dotted.slice(1).map(Number)]
  const [head = '', tail] = (canonicalAddress(ip) ?? '::').split('::')
  const groups = (part: string): number[] =>
    part
      .split(':')
      .filter(Boolean)
      .map(group => Number.parseInt(group, 16))
  const [front, back] = [groups(head), groups(tail ?? '')]
  const all = [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back]
  return all.flatMap(group => [group >>> 8, group & 0xff])
}
