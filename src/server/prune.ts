import { timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import type { SignIns } from '#server/sign-ins.ts'
import type { Store } from '#store/store.ts'

const HOUR_MS = 3_600_000
const EVENT_DAYS = 30
/** A follower that is further behind takes a snapshot instead. */
const KEPT_CHANGES = 100_000

export interface Pruned {
  readonly store: Store
  readonly signIns: SignIns
  readonly log: Log
  readonly now: () => number
}

/** Keeps the change log, the outbox and the sessions of visitors from growing for ever; returns how to stop. */
export function startPruning({ store, signIns, log, now }: Pruned): () => void {
  const prune = async () => {
    await signIns.prune()
    const changesUpTo = (await store.revision()) - KEPT_CHANGES
    await store.prune({ changesUpTo, eventsBefore: timestamp(now() - EVENT_DAYS * 24 * HOUR_MS) })
  }
  const timer = setInterval(() => {
    prune().catch((error: unknown) => log.warn({ error }, 'could not remove what is out of date'))
  }, HOUR_MS)
  timer.unref()
  return () => clearInterval(timer)
}
