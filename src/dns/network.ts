import { ipv6Groups, plainAddress } from '#base/addresses.ts'

/**
 * What counts as one client: an address implies control of its neighbours, or can be forged among them. /24 and /56.
 */
export function networkOf(address: string): string {
  const plain = plainAddress(address)
  if (!plain.includes(':')) return plain.slice(0, plain.lastIndexOf('.'))
  const groups = ipv6Groups(plain)
  if (groups === undefined) return plain
  const [a = 0, b = 0, c = 0, d = 0] = groups
  return `${a}:${b}:${c}:${d & 0xff00}`
}
