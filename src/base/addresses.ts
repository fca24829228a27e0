import { isIP } from 'node:net'

export interface Range {
  readonly address: string
  readonly bits: number
  readonly family: 'ipv4' | 'ipv6'
}

/** IPv6 as eight numbers; undefined when it is not an IPv6 address. */
export function ipv6Groups(text: string): number[] | undefined {
  if (isIP(text) !== 6 || text.includes('%')) return undefined
  const withoutIPv4 = text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) =>
    [Number(a) * 256 + Number(b), Number(c) * 256 + Number(d)].map(group => group.toString(16)).join(':'),
  )
  const [head = '', tail] = withoutIPv4.split('::')
  const groups = (part: string) =>
    part
      .split(':')
      .filter(Boolean)
      .map(group => Number.parseInt(group, 16))
  const [front, back] = [groups(head), groups(tail ?? '')]
  return [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back]
}

/** The shortest form (RFC 5952), for comparison and display. */
function ipv6Text(groups: readonly number[]): string {
  const text = new URL(`http://[${groups.map(group => group.toString(16)).join(':')}]`).hostname
  return text.slice(1, -1)
}

const ipv4Groups = (text: string): number[] => text.split('.').map(Number)

/** Clears the bits of `groups` (each `size` bits wide) after the first `bits`. */
const masked = (groups: readonly number[], size: number, bits: number): number[] =>
  groups.map((group, index) => {
    const kept = Math.min(size, Math.max(0, bits - index * size))
    return group & ~(2 ** (size - kept) - 1) & (2 ** size - 1)
  })

/** An address in its canonical form; undefined when the text is not an address. */
export function canonicalAddress(text: string): string | undefined {
  if (isIP(text) === 4) return text
  const groups = ipv6Groups(text)
  return groups && ipv6Text(groups)
}

/** Normalizes `address/bits` to its lowest address; undefined when it is not a range. */
export function parseRange(text: string): Range | undefined {
  const [address = '', mask, ...rest] = text.split('/')
  if (mask === undefined || rest.length > 0 || !/^\d{1,3}$/.test(mask)) return undefined
  const bits = Number(mask)
  if (isIP(address) === 4) {
    return bits <= 32
      ? { address: masked(ipv4Groups(address), 8, bits).join('.'), bits, family: 'ipv4' }
      : undefined
  }
  const groups = ipv6Groups(address)
  if (!groups || bits > 128) return undefined
  return { address: ipv6Text(masked(groups, 16, bits)), bits, family: 'ipv6' }
}

export const rangeText = (range: Range): string => `${range.address}/${range.bits}`

/** IPv4 through a socket of both families is shown as IPv4; the zone of a link-local address means nothing to others. */
export function plainAddress(address: string): string {
  if (address.startsWith('::ffff:') && address.includes('.')) return address.slice(7)
  const zone = address.indexOf('%')
  return zone < 0 ? address : address.slice(0, zone)
}
