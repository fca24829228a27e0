const FIRST_MS = 1000

export interface Pace {
  /** How long the wait after a failure may become. */
  readonly maxWaitMs: number
  /** Events that cannot be delivered for so long become dead letters. */
  readonly giveUpMs: number
  /** How long to gather after a first event, so that those of one moment leave together. */
  readonly gatherMs: number
  /** How often the store is looked at although nobody rang: another process may have written. */
  readonly pollMs: number
  /** Another server delivers changes when the one that did has not been heard of for so long. */
  readonly leaseMs: number
}

export const usualPace: Pace = {
  maxWaitMs: 2 * 3_600_000,
  giveUpMs: 24 * 3_600_000,
  gatherMs: 20,
  pollMs: 2000,
  leaseMs: 10_000,
}

/** Anything up to a bound that doubles: those who failed at the same time do not come back at the same time. */
export function waitAfter(failures: number, { maxWaitMs }: Pace, retryAfterMs: number | undefined): number {
  const bound = Math.min(maxWaitMs, FIRST_MS * 2 ** Math.min(failures - 1, 30))
  const asked = Math.min(retryAfterMs ?? 0, Math.max(maxWaitMs, 24 * 3_600_000))
  return Math.max(asked, Math.random() * bound)
}
