import { BlockList, isIPv4 } from 'node:net'
import { canonicalAddress, ipv6Groups, parseRange, type Range } from '#base/addresses.ts'

function listOf(ranges: readonly Range[]): BlockList {
  const list = new BlockList()
  for (const { address, bits, family } of ranges) list.addSubnet(address, bits, family)
  return list
}

const ranges = (...texts: readonly string[]): BlockList =>
  listOf(texts.flatMap(text => parseRange(text.includes('/') ? text : single(text)) ?? []))

const single = (address: string): string => `${address}/${isIPv4(address) ? 32 : 128}`

/** IPv4 outside of the public network, by the registry of special addresses (RFC 6890). */
const special4 = ranges(
  '0.0.0.0/8', // unspecified; Linux treats it as this machine
  '10.0.0.0/8',
  '100.64.0.0/10', // shared with a carrier's customers
  '127.0.0.0/8',
  '169.254.0.0/16', // link-local
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // relays of 6to4
  '192.168.0.0/16',
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
  '168.63.129.16', // public, but some clouds serve metadata there
)

/** All allocated IPv6. Loopback, link-local, unique local, multicast and IPv4-compatible are outside of it. */
const global6 = ranges('2000::/3')
const special6 = ranges(
  '2001::/23', // protocol assignments: Teredo, benchmarks, ORCHID
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4, with an IPv4 address inside
  '3fff::/20', // documentation
)

/** Cloud metadata addresses, which return keys to any caller: a range that merely contains one does not allow it. */
const metadata = ranges(
  '100.100.100.200',
  '168.63.129.16',
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '192.0.0.192',
  'fd00:ec2::23',
  'fd00:ec2::254',
  'fd20:ce::254',
)

const NAT64 = [0x64, 0xff9b, 0, 0, 0, 0]
const MAPPED = [0, 0, 0, 0, 0, 0xffff]

/** The IPv4 address at the end of an IPv6 one that begins with `prefix`. */
function embedded(address: string, prefix: readonly number[]): string | undefined {
  const groups = ipv6Groups(address)
  if (groups === undefined || prefix.some((group, at) => groups[at] !== group)) return undefined
  const [high = 0, low = 0] = groups.slice(6)
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
}

const familyOf = (address: string): Range['family'] => (isIPv4(address) ? 'ipv4' : 'ipv6')

function isPublic(address: string): boolean {
  if (isIPv4(address)) return !special4.check(address, 'ipv4')
  const translated = embedded(address, NAT64)
  if (translated !== undefined) return isPublic(translated)
  return global6.check(address, 'ipv6') && !special6.check(address, 'ipv6')
}

/** The address to connect to: the given one in its plain form; undefined when it may not be reached. */
export type Reach = (address: string) => string | undefined

/** Allows the public network, and of all other networks only those in `allow`. */
export function reachOf(allow: readonly Range[]): Reach {
  const allowed = listOf(allow)
  const named = listOf(allow.filter(({ bits, family }) => bits === (family === 'ipv4' ? 32 : 128)))
  return text => {
    const canonical = canonicalAddress(text)
    if (canonical === undefined) return undefined
    const address = embedded(canonical, MAPPED) ?? canonical
    const family = familyOf(address)
    if (metadata.check(address, family)) return named.check(address, family) ? address : undefined
    return isPublic(address) || allowed.check(address, family) ? address : undefined
  }
}
