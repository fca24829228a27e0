import { retryAfterMs } from '#base/retry-after.ts'

/** Longer delays are capped to this. */
const LONGEST_MS = 7 * 86_400_000

/** The time of a CA's Retry-After; undefined when it is absent or invalid. */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  const delay = retryAfterMs(header, now, LONGEST_MS)
  return delay === undefined ? undefined : now + delay
}
