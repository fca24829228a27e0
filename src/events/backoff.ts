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

/** Full jitter: a random delay up to a doubling bound, so that retries do not synchronize. */
export function waitAfter(
  failures: number,
  { maxWaitMs }: DeliveryTimings,
  retryAfterMs: number | undefined,
): number {
  const bound = Math.min(maxWaitMs, FIRST_MS * 2 ** Math.min(failures - 1, 30))
  const asked = Math.min(retryAfterMs ?? 0, Math.max(maxWaitMs, 24 * 3_600_000))
  return Math.max(asked, Math.random() * bound)
}
