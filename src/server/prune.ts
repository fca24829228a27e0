import { timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import type { Store } from '#store/store.ts'

const HOUR_MS = 3_600_000
const EVENT_DAYS = 30
/** A follower that is further behind takes a snapshot instead. */
const KEPT_CHANGES = 100_000

/** Keeps the change log and the outbox from growing for ever; returns how to stop. */
export function startPruning(store: Store, log: Log, now: () => number): () => void {
  const prune = async () => {
    const changesUpTo = (await store.revision()) - KEPT_CHANGES
    await store.prune({ changesUpTo, eventsBefore: timestamp(now() - EVENT_DAYS * 24 * HOUR_MS) })
  }
  const timer = setInterval(() => {
    prune().catch((error: unknown) => log.warn({ error }, 'could not prune the change log'))
  }, HOUR_MS)
  timer.unref()
  return () => clearInterval(timer)
}
