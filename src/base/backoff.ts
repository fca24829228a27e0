interface BackoffBounds {
  readonly baseMs: number
  readonly capMs: number
  /** A number from 0 to 1. */
  readonly random?: (() => number) | undefined
}

/** More doublings reach no delay that is in use. */
const MAX_DOUBLINGS = 30

/** Full jitter: a random delay up to a doubling bound, so that retries do not synchronize. */
export const fullJitter = (
  failures: number,
  { baseMs, capMs, random = Math.random }: BackoffBounds,
): number => random() * Math.min(capMs, baseMs * 2 ** Math.min(failures, MAX_DOUBLINGS))
