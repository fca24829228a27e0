import { fullJitter } from '#base/backoff.ts'

const FIRST_MS = 1000

export interface DeliveryTimings {
  /** Maximum delay after a failure. */
  readonly maxWaitMs: number
  /** Events that cannot be delivered for this long become dead letters. */
  readonly giveUpMs: number
  /** How long to gather after a first event, so that concurrent ones are sent together. */
  readonly gatherMs: number
  /** Poll interval of the store: another process may have written. */
  readonly pollMs: number
  /** The lease: another server takes over when the leader was silent for this long. */
  readonly leaseMs: number
}

export const defaultDeliveryTimings: DeliveryTimings = {
  maxWaitMs: 2 * 3_600_000,
  giveUpMs: 24 * 3_600_000,
  gatherMs: 20,
  pollMs: 2000,
  leaseMs: 10_000,
}

/** The delay after so many failures in a row. */
export function waitAfter(
  failures: number,
  { maxWaitMs }: DeliveryTimings,
  retryAfterMs: number | undefined,
): number {
  const asked = Math.min(retryAfterMs ?? 0, Math.max(maxWaitMs, 24 * 3_600_000))
  return Math.max(asked, fullJitter(failures - 1, { baseMs: FIRST_MS, capMs: maxWaitMs }))
}
