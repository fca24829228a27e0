import { inBackground } from '#base/background.ts'
import { timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { capture } from '#contract/kinds/capture.ts'
import { pruneDeadLetters } from '#events/dead-letters.ts'
import { cautiousClock, pruneUsage } from '#server/usage/prune-usage.ts'
import type { UserSessions } from '#server/user-sessions.ts'
import { rowsOf } from '#store/rows-of.ts'
import type { Store } from '#store/store.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Undelivered events are kept this long, even if the audit log is kept for less. */
const UNDELIVERED_DAYS = 7
/** A follower that is further behind loads a snapshot instead. */
const KEPT_CHANGES = 100_000

interface Pruned {
  readonly store: Store
  readonly sessions: Pick<UserSessions, 'prune'>
  /** Retention of the audit log. */
  readonly auditDays: number
  /** The number of the latest event before which all are delivered. */
  readonly delivered: () => Promise<number>
  readonly log: Log
  readonly now: () => number
}

export interface PeriodicPruning extends Pruned {
  /** False: another server of the cluster does it. */
  readonly isTurn: () => boolean
}

/** Deletes expired rows, once. */
export async function prune({ store, sessions, auditDays, delivered, now }: Pruned): Promise<void> {
  await sessions.prune()
  await pruneCaptures(store, now())
  const changesUpTo = (await store.revision()) - KEPT_CHANGES
  const daysAgo = (days: number): string => timestamp(now() - days * DAY_MS)
  const undelivered = Math.max(auditDays, UNDELIVERED_DAYS)
  // Before the followers are asked for their position.
  await pruneDeadLetters(store, now() - undelivered * DAY_MS)
  await store.prune({ changesUpTo, eventsBefore: daysAgo(auditDays), eventsUpTo: await delivered() })
  await store.prune({ changesUpTo, eventsBefore: daysAgo(undelivered) })
}

/** Captures that have ended are shown until then. */
async function pruneCaptures(store: Store, now: number): Promise<void> {
  for await (const row of rowsOf(store, capture.name)) {
    const { expires_at: end } = JSON.parse(row.body) as { expires_at: string }
    if (Date.parse(end) < now) await store.commit([{ op: 'remove', id: row.id, version: row.version }])
  }
}

/** Limits the change log, the outbox, the sign-in sessions, the usage and the captures; returns how to stop. */
export function startPruning(pruned: PeriodicPruning): () => void {
  const background = {
    task: 'prune',
    log: pruned.log,
    failed: 'deleting expired rows failed',
  } as const
  const usageTime = cautiousClock(pruned.now)
  const pruneAll = async (): Promise<void> => {
    if (!pruned.isTurn()) return
    await prune(pruned)
    await pruneUsage(pruned.store.usage, usageTime())
  }
  const timer = setInterval(() => void inBackground(background, pruneAll), HOUR_MS)
  timer.unref()
  return () => clearInterval(timer)
}
