import { isIP } from 'node:net'
import { ipv6Groups, parseRange } from '#base/addresses.ts'

export interface Rule {
  readonly cidr: string
  readonly action: 'allow' | 'deny'
}

/** A range of addresses by its first and last one, each as a list of numbers of equal size. */
interface Span {
  readonly first: readonly number[]
  readonly last: readonly number[]
}

const MAPPED_BITS = 96

/** The decision of rules about an address: deny wins over allow, undefined when none matches. */
export type AddressJudge = (ip: string) => Rule['action'] | undefined

/** As fast with ten thousand rules as with one. */
export function addressJudge(rules: readonly Rule[]): AddressJudge {
  const allowed = new AddressSet(rules.filter(({ action }) => action === 'allow'))
  const denied = new AddressSet(rules.filter(({ action }) => action === 'deny'))
  return ip => {
    const numbers = numbersOf(ip)
    if (numbers === undefined || denied.has(numbers)) return 'deny'
    return allowed.has(numbers) ? 'allow' : undefined
  }
}

/** Allows an address that matches an allow rule and no deny rule. */
export function addressFilter(rules: readonly Rule[]): (ip: string) => boolean {
  const judge = addressJudge(rules)
  return ip => judge(ip) === 'allow'
}

/** A rule that decides about an address as all of them do, the narrowest of those; undefined when none matches. */
export function decidingRule<R extends Rule>(rules: readonly R[], ip: string): R | undefined {
  const verdict = addressJudge(rules)(ip)
  const deciding = rules.filter(rule => rule.action === verdict && addressJudge([rule])(ip) === verdict)
  const [narrowest] = deciding.toSorted((one, other) => bitsOf(other) - bitsOf(one))
  return narrowest
}

const bitsOf = ({ cidr }: Rule): number => parseRange(cidr)?.bits ?? 0

/** IPv4 as one number, IPv6 as eight; IPv4-mapped addresses count as IPv4. */
function numbersOf(ip: string): readonly number[] | undefined {
  if (!ip.includes(':')) return isIP(ip) === 4 ? [ipv4Number(ip)] : undefined
  const zone = ip.indexOf('%')
  const groups = ipv6Groups(zone < 0 ? ip : ip.slice(0, zone))
  return groups && (mappedNumber(groups) ?? groups)
}

function mappedNumber(groups: readonly number[]): readonly number[] | undefined {
  const [a, b, c, d, e, marker, high = 0, low = 0] = groups
  const isMapped = marker === 0xffff && a === 0 && b === 0 && c === 0 && d === 0 && e === 0
  return isMapped ? [high * 65_536 + low] : undefined
}

function ipv4Number(ip: string): number {
  let value = 0
  let part = 0
  for (let at = 0; at < ip.length; at++) {
    const code = ip.charCodeAt(at)
    if (code === 0x2e) {
      value = value * 256 + part
      part = 0
    } else part = part * 10 + code - 0x30
  }
  return value * 256 + part
}

/** Ranges sorted and merged, for a binary search. */
class AddressSet {
  readonly #ipv4: readonly Span[]
  readonly #ipv6: readonly Span[]

  constructor(rules: readonly Rule[]) {
    const spans = rules.flatMap(({ cidr }) => spanOf(cidr) ?? [])
    this.#ipv4 = joined(spans.filter(({ first }) => first.length === 1))
    this.#ipv6 = joined(spans.filter(({ first }) => first.length > 1))
  }

  has(address: readonly number[]): boolean {
    const spans = address.length === 1 ? this.#ipv4 : this.#ipv6
    let low = 0
    let high = spans.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const span = spans[middle]
      if (span !== undefined && compared(span.last, address) < 0) low = middle + 1
      else high = middle
    }
    const span = spans[low]
    return span !== undefined && compared(span.first, address) <= 0
  }
}

function spanOf(cidr: string): Span | undefined {
  const range = parseRange(cidr)
  if (range === undefined) return undefined
  if (range.family === 'ipv4') return ipv4Span(ipv4Number(range.address), range.bits)
  const groups = ipv6Groups(range.address) ?? []
  const mapped = range.bits >= MAPPED_BITS ? mappedNumber(groups)?.[0] : undefined
  if (mapped !== undefined) return ipv4Span(mapped, range.bits - MAPPED_BITS)
  const last = groups.map(
    (group, at) => group | (2 ** Math.min(16, Math.max(0, (at + 1) * 16 - range.bits)) - 1),
  )
  return { first: groups, last }
}

const ipv4Span = (first: number, bits: number): Span => ({
  first: [first],
  last: [first + 2 ** (32 - bits) - 1],
})

function compared(left: readonly number[], right: readonly number[]): number {
  for (let at = 0; at < left.length; at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}

function joined(spans: readonly Span[]): readonly Span[] {
  const result: Span[] = []
  for (const span of spans.toSorted((left, right) => compared(left.first, right.first))) {
    const before = result.at(-1)
    if (before === undefined || compared(before.last, span.first) < 0) result.push(span)
    else if (compared(before.last, span.last) < 0)
      result.splice(-1, 1, { first: before.first, last: span.last })
  }
  return result
}
