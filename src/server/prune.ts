import { inBackground } from '#base/background.ts'
import { timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { pruneDeadLetters } from '#events/dead-letters.ts'
import type { SignIns } from '#server/sign-ins.ts'
import type { Store } from '#store/store.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Events that a destination has not taken are kept so long, even where the audit log is kept for less. */
const UNDELIVERED_DAYS = 7
/** A follower that is further behind takes a snapshot instead. */
const KEPT_CHANGES = 100_000

export interface Pruned {
  readonly store: Store
  readonly signIns: Pick<SignIns, 'prune'>
  /** How long the audit log goes back. */
  readonly auditDays: number
  /** The number of the latest event before which all are delivered. */
  readonly delivered: () => Promise<number>
  readonly log: Log
  readonly now: () => number
}

/** Removes what is out of date, once. */
export async function prune({ store, signIns, auditDays, delivered, now }: Pruned): Promise<void> {
  await signIns.prune()
  const changesUpTo = (await store.revision()) - KEPT_CHANGES
  const daysAgo = (days: number): string => timestamp(now() - days * DAY_MS)
  const undelivered = Math.max(auditDays, UNDELIVERED_DAYS)
  // Before those who keep count of them are asked how far they are.
  await pruneDeadLetters(store, now() - undelivered * DAY_MS)
  await store.prune({ changesUpTo, eventsBefore: daysAgo(auditDays), eventsUpTo: await delivered() })
  await store.prune({ changesUpTo, eventsBefore: daysAgo(undelivered) })
}

/** Keeps the change log, the outbox and the sessions of visitors from growing for ever; returns how to stop. */
export function startPruning(pruned: Pruned): () => void {
  const background = {
    task: 'prune',
    log: pruned.log,
    failed: 'could not remove what is out of date',
  } as const
  const timer = setInterval(() => void inBackground(background, () => prune(pruned)), HOUR_MS)
  timer.unref()
  return () => clearInterval(timer)
}
