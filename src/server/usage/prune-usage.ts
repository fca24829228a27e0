import { DAY, HOUR, MINUTE, type UsageStore } from '#store/usage.ts'

/** A window shows whole hours or days, so that a bit more than it is kept. */
const retention = [
  { resolution: MINUTE, seconds: 26 * HOUR },
  { resolution: HOUR, seconds: 32 * DAY },
  { resolution: DAY, seconds: 367 * DAY },
] as const

/** Deletes expired usage. */
export async function pruneUsage(store: UsageStore, now: number): Promise<void> {
  const seconds = Math.floor(now / 1000)
  for (const { resolution, seconds: kept } of retention) await store.prune(resolution, seconds - kept)
  await store.forgetWriters(seconds - 8 * DAY)
}

/** Time for deletions, in milliseconds: a clock that steps ahead for less than the interval expires nothing. */
export function cautiousClock(
  now: () => number,
  elapsed: () => number = () => performance.now(),
): () => number {
  let last = { now: now(), at: elapsed() }
  return () => {
    const [seen, at] = [now(), elapsed()]
    const expected = last.now + at - last.at
    last = { now: seen, at }
    return Math.min(seen, expected)
  }
}
