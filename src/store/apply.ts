import { query, type SqlValue, type Steps } from '#store/engine.ts'
import type { Insertion, Statements } from '#store/statements.ts'
import { StoreError } from '#store/store-error.ts'
import type {
  RowChange,
  RowEntry,
  EventRecord,
  CommitOutcome,
  CommitRefusal,
  Row,
  Write,
} from '#store/store.ts'

interface Counter {
  revision: number
  sequence: number
}

/** The counters of a transaction, what it has changed so far, and the events about it. */
interface Progress extends Counter {
  readonly changes: RowChange[]
  readonly events: EventRecord[]
}

export interface CommittedGroup {
  readonly outcomes: readonly CommitOutcome[]
  /** In order, without gaps. */
  readonly changes: readonly RowChange[]
}

type Standing = Pick<Row, 'id' | 'kind' | 'version'>

/** JSON for the engines' `each`. Ill-formed text is never stored, and PostgreSQL rejects it. */
export const idList = (ids: readonly string[]): string => JSON.stringify(ids.map(id => id.toWellFormed()))

/**
 * Whether a batch may be rejected after its first change. The checks of a change come before it, except for claims;
 * an event is never rejected.
 */
function isRejectedLate(batch: readonly Write[]): boolean {
  let hasChanged = false
  for (const write of batch) {
    if (hasChanged && write.op !== 'event') return true
    if ('entry' in write && write.entry.claims.length > 0) return true
    hasChanged ||= write.op !== 'expect'
  }
  return false
}

/**
 * One transaction for many batches. A rejected batch is rolled back alone, which takes a savepoint unless it has the
 * transaction for itself, or is rejected before it has changed anything.
 */
export function* commitGroup(sql: Statements, batches: readonly (readonly Write[])[]): Steps<CommittedGroup> {
  yield* query(sql.begin)
  const start = yield* lockCounter(sql)
  const alone = batches.length === 1
  const outcomes: CommitOutcome[] = []
  const changes: RowChange[] = []
  const events: EventRecord[] = []
  let counter: Progress = { ...start, changes, events }

  for (const batch of batches) {
    const isGuarded = !alone && isRejectedLate(batch)
    if (isGuarded) yield* query(sql.savepoint)
    const after = { ...counter }
    const refusal = yield* applyBatch(sql, batch, after)
    if (refusal === undefined) counter = after
    else if (isGuarded) yield* query(sql.undo)
    // Without those of a rejected batch.
    changes.length = counter.revision - start.revision
    events.length = counter.sequence - start.sequence
    if (isGuarded) yield* query(sql.release)
    outcomes.push(refusal ? { ok: false, refusal } : { ok: true, revision: counter.revision })
  }

  // An unchanged counter means that nothing was written, or nothing that may stay.
  if (counter.revision === start.revision && counter.sequence === start.sequence) {
    yield* query(sql.rollback)
    return { outcomes, changes }
  }
  yield* insertAll(
    sql.insertChanges,
    changes.map(({ revision, kind, id, op }) => [revision, kind, id, op]),
  )
  yield* insertAll(
    sql.insertEvents,
    events.map(({ id, type, at, body }, index) => [start.sequence + index + 1, id, type, at, body]),
  )
  yield* query(sql.writeCounter, counter.revision, counter.sequence)
  yield* query(sql.commit)
  return { outcomes, changes }
}

function* insertAll({ one, all }: Insertion, rows: readonly (readonly SqlValue[])[]): Steps<void> {
  if (all === undefined) for (const row of rows) yield* query(one, ...row)
  else if (rows.length > 0) yield* query(all, JSON.stringify(rows))
}

/** Takes the lock that all writers share, then reads the counters. */
export function* lockCounter(sql: Statements): Steps<Counter> {
  const [counter] = yield* query<Counter>(sql.lockCounter)
  if (counter === undefined) throw new StoreError('unusable', 'The database has lost its counter row.')
  return { revision: counter.revision, sequence: counter.sequence }
}

function* applyBatch(
  sql: Statements,
  batch: readonly Write[],
  counter: Progress,
): Steps<CommitRefusal | undefined> {
  for (const write of batch) {
    const refusal = yield* applyWrite(sql, write, counter)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

function* applyWrite(sql: Statements, write: Write, counter: Progress): Steps<CommitRefusal | undefined> {
  switch (write.op) {
    case 'insert':
    case 'update':
      return yield* put(sql, write, counter)
    case 'remove':
      return yield* remove(sql, write, counter)
    case 'expect': {
      const standing = yield* standingRows(sql, [write.id])
      return standing.get(write.id)?.version === write.version ? undefined : { reason: 'stale', id: write.id }
    }
    case 'event':
      counter.sequence += 1
      counter.events.push(write.event)
      return undefined
  }
}

function* put(
  sql: Statements,
  { op, entry }: Extract<Write, { entry: RowEntry }>,
  counter: Progress,
): Steps<CommitRefusal | undefined> {
  const { id, kind, parent, version, body } = entry.row
  // A self-reference would only prevent deletion.
  const refs = [...new Set(entry.refs)].filter(ref => ref !== id)
  const targets = parent === null ? refs : [parent, ...refs]
  // A new row that needs no other is only inserted, which fails if it exists: the check would cost a round trip.
  const isChecked = op === 'update' || targets.length > 0
  const standing = isChecked ? yield* standingRows(sql, [id, ...targets]) : new Map<string, Standing>()

  if (op === 'insert' && standing.has(id)) return { reason: 'exists', id }
  if (op === 'update' && standing.get(id)?.version !== version - 1) return { reason: 'stale', id }
  const target = targets.find(other => !standing.has(other))
  if (target !== undefined) return { reason: 'missing', id, target }

  if (op === 'update') {
    yield* query(sql.removeReferences, id)
    yield* query(sql.removeClaims, id)
  }
  const written = yield* query(
    op === 'insert' ? sql.insertRow : sql.updateRow,
    id,
    kind,
    parent,
    version,
    body,
  )
  if (op === 'insert' && written.length === 0) return { reason: 'exists', id }
  if (refs.length > 0) yield* query(sql.insertReferences, idList(refs), id)
  const refusal = yield* claim(sql, entry)
  return refusal ?? record({ kind, id, op }, counter)
}

function* claim(sql: Statements, { row, claims }: RowEntry): Steps<CommitRefusal | undefined> {
  for (const { namespace, value } of claims) {
    const inserted = yield* query(sql.insertClaim, namespace, value, row.id)
    if (inserted.length > 0) continue
    const [standing] = yield* query<{ owner: string }>(sql.claimOwner, namespace, value)
    // The same claim twice in one entry is one claim.
    if (standing !== undefined && standing.owner !== row.id) {
      return { reason: 'claimed', claim: { namespace, value }, owner: standing.owner }
    }
  }
  return undefined
}

function* remove(
  sql: Statements,
  { id, version }: Extract<Write, { op: 'remove' }>,
  counter: Progress,
): Steps<CommitRefusal | undefined> {
  const row = (yield* standingRows(sql, [id])).get(id)
  if (row?.version !== version) return { reason: 'stale', id }

  const [dependent] = yield* query<{ id: string | null }>(sql.dependent, id)
  if (typeof dependent?.id === 'string') return { reason: 'in_use', id, by: dependent.id }

  yield* query(sql.removeRow, id)
  return record({ kind: row.kind, id, op: 'remove' }, counter)
}

function record({ kind, id, op }: Omit<RowChange, 'revision'>, counter: Progress): undefined {
  counter.revision += 1
  counter.changes.push({ revision: counter.revision, kind, id, op })
}

function* standingRows(sql: Statements, ids: readonly string[]): Steps<Map<string, Standing>> {
  const [only = ''] = ids
  // Most writes concern one row, for which SQLite need not expand a list.
  const rows = yield* ids.length === 1
    ? query<Standing>(sql.standing, only.toWellFormed())
    : query<Standing>(sql.standingAmong, idList(ids))
  return new Map(rows.map(row => [row.id, row]))
}
