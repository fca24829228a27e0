import { BlockList } from 'node:net'
import { canonicalAddress, parseRange, type Range } from '#base/addresses.ts'
import { refuse } from '#pki/pki-error.ts'

const MAX_RANGES = 256

/**
 * Parses the `source-address` option. sshd rejects every sign-in when one entry is malformed or is not the lowest
 * address of its range, so such a value is rejected here, where it can be corrected.
 */
export function readSourceAddresses(value: string): BlockList {
  const ranges = new BlockList()
  const entries = value.split(',')
  if (entries.length > MAX_RANGES) refuse('bad_option', `source-address takes at most ${MAX_RANGES} ranges.`)
  for (const { address, bits, family } of entries.map(readEntry)) ranges.addSubnet(address, bits, family)
  return ranges
}

/** A CIDR range, or one address. */
function readEntry(entry: string): Range {
  const [address = ''] = entry.split('/')
  const whole = address.includes(':') ? 128 : 32
  const range = parseRange(entry.includes('/') ? entry : `${entry}/${whole}`)
  if (range === undefined)
    refuse('bad_option', 'source-address must be a list of CIDR ranges such as 10.0.0.0/8,2001:db8::/32.')
  if (range.address !== canonicalAddress(address))
    refuse('bad_option', 'Each range of source-address must start at its lowest address, as 10.0.0.0/8 does.')
  return range
}
