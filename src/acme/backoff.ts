import { fullJitter } from '#base/backoff.ts'

const LONGEST_MS = 12 * 3_600_000
const LONGEST_LOOK_MS = 15 * 60_000

interface Wait {
  readonly failures: number
  /** After an order failed. */
  readonly shortest: number
  /** Only DNS was queried, and people who have just set a record watch the status. */
  readonly dnsOnly: boolean
}

/** The delay after so many failures. */
export function waitAfter({ failures, shortest, dnsOnly }: Wait, random: () => number): number {
  const [least, most] = dnsOnly ? [shortest / 4, LONGEST_LOOK_MS] : [shortest, LONGEST_MS]
  return Math.max(least, fullJitter(failures, { baseMs: least, capMs: most, random }))
}

/** After a failure that minutes will not change. */
export const waitLong = (random: () => number): number => LONGEST_MS / 2 + (random() * LONGEST_MS) / 2
