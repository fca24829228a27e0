import { ipv6Groups } from '#base/addresses.ts'

/**
 * What counts as one client: an address implies control of its neighbours, or can be forged among them. /24 and /56.
 */
export function networkOf(address: string): string {
  const plain = address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address
  if (!plain.includes(':')) return plain.slice(0, plain.lastIndexOf('.'))
  const zone = plain.indexOf('%')
  const groups = ipv6Groups(zone < 0 ? plain : plain.slice(0, zone))
  if (groups === undefined) return plain
  const [a = 0, b = 0, c = 0, d = 0] = groups
  return `${a}:${b}:${c}:${d & 0xff00}`
}
