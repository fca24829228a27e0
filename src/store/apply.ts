import { query, transaction, type Steps } from '#store/engine.ts'
import type { BulkStatements, Statements } from '#store/statements.ts'
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

type Batch = readonly Write[]

interface Counter {
  readonly revision: number
  readonly sequence: number
}

/** What a transaction has changed so far, and the events about it. */
interface Progress {
  readonly start: Counter
  readonly changes: RowChange[]
  readonly written: (Row | undefined)[]
  readonly events: EventRecord[]
}

export interface CommittedGroup {
  readonly outcomes: readonly CommitOutcome[]
  /** In order, without gaps. */
  readonly changes: readonly RowChange[]
  /** The row after each change; undefined if it was removed. */
  readonly written: readonly (Row | undefined)[]
}

type Standing = Pick<Row, 'id' | 'kind' | 'version'>

const latestRevision = ({ start, changes }: Progress): number => start.revision + changes.length
const latestSequence = ({ start, events }: Progress): number => start.sequence + events.length

/** In the order of the columns that the statements name. */
const valuesOf = ({ id, kind, parent, version, body }: Row) => [id, kind, parent, version, body] as const

const eventsOf = (batch: Batch): EventRecord[] =>
  batch.flatMap(write => (write.op === 'event' ? [write.event] : []))

/** JSON for the engines' `each`. Ill-formed text is never stored, and PostgreSQL rejects it. */
export const idList = (ids: readonly string[]): string => JSON.stringify(ids.map(id => id.toWellFormed()))

/** The row of a batch that only inserts it: it needs no other row, claims nothing, and may have events. */
function onlyRow(batch: Batch): Row | undefined {
  let row: Row | undefined
  for (const write of batch) {
    if (write.op === 'event') continue
    if (row !== undefined || write.op !== 'insert') return undefined
    const { refs, claims } = write.entry
    if (write.entry.row.parent !== null || refs.length > 0 || claims.length > 0) return undefined
    row = write.entry.row
  }
  return row
}

/**
 * Whether a batch may be rejected after its first change. The checks of a change come before it, except for claims;
 * an event is never rejected.
 */
function isRejectedLate(batch: Batch): boolean {
  let hasChanged = false
  for (const write of batch) {
    if (hasChanged && write.op !== 'event') return true
    if ('entry' in write && write.entry.claims.length > 0) return true
    hasChanged ||= write.op !== 'expect'
  }
  return false
}

/** One transaction for many batches. Neighbours that only insert a row each are inserted together. */
export function* commitGroup(sql: Statements, batches: readonly Batch[]): Steps<CommittedGroup> {
  yield* query(sql.begin)
  const progress: Progress = { start: yield* lockCounter(sql), changes: [], written: [], events: [] }
  const outcomes: CommitOutcome[] = []
  const rows = batches.map(onlyRow)
  let inserted = new Set<string>()

  for (const [index, batch] of batches.entries()) {
    const row = rows[index]
    if (row && !rows[index - 1]) inserted = yield* insertRows(sql, rowsFrom(rows, index))
    const refusal = row
      ? recordInserted(row, batch, inserted, progress)
      : yield* applyBatch(sql, batch, progress, batches.length === 1)
    outcomes.push(refusal ? { ok: false, refusal } : { ok: true, revision: latestRevision(progress) })
  }

  const { changes, written, events } = progress
  // Then nothing was written, or nothing that may stay.
  if (changes.length === 0 && events.length === 0) {
    yield* query(sql.rollback)
    return { outcomes, changes, written }
  }
  yield* writeLog(sql, progress)
  yield* query(sql.commit)
  return { outcomes, changes, written }
}

/**
 * The same in one round trip, for batches that only insert a row each. Undefined if these are others, or the engine has
 * no such statement. Fails if a row exists.
 */
export function insertGroup(sql: Statements, batches: readonly Batch[]): Steps<CommittedGroup> | undefined {
  if (sql.inBulk === undefined) return undefined
  const rows = batches.map(onlyRow).filter(row => row !== undefined)
  return rows.length === batches.length
    ? insertTogether(sql.inBulk, rows, eventsOf(batches.flat()))
    : undefined
}

function* insertTogether(
  inBulk: BulkStatements,
  rows: readonly Row[],
  events: readonly EventRecord[],
): Steps<CommittedGroup> {
  const [counter] = yield* transaction<Counter>(
    inBulk.insertGroup,
    JSON.stringify(rows.map(valuesOf)),
    JSON.stringify(events.map(({ id, type, at, body }) => [id, type, at, body])),
    rows.length,
    events.length,
  )
  const first = requireCounter(counter).revision - rows.length + 1
  return {
    outcomes: rows.map((_, index) => ({ ok: true, revision: first + index })),
    changes: rows.map(({ kind, id }, index) => ({ revision: first + index, kind, id, op: 'insert' })),
    written: rows,
  }
}

/** The rows from here to the next batch that is applied by itself. */
function rowsFrom(rows: readonly (Row | undefined)[], start: number): readonly Row[] {
  const end = rows.indexOf(undefined, start)
  return rows.slice(start, end === -1 ? rows.length : end) as Row[]
}

/** Returns the ids of the rows that did not exist. */
function* insertRows(sql: Statements, rows: readonly Row[]): Steps<Set<string>> {
  const values = rows.map(valuesOf)
  const inserted = new Set<string>()
  // The parameters of one row are cheaper than JSON.
  if (sql.inBulk !== undefined && rows.length > 1) {
    for (const { id } of yield* query<Standing>(sql.inBulk.insertRows, JSON.stringify(values)))
      inserted.add(id)
  } else {
    for (const row of values)
      for (const { id } of yield* query<Standing>(sql.insertRow, ...row)) inserted.add(id)
  }
  return inserted
}

function recordInserted(
  row: Row,
  batch: Batch,
  inserted: Set<string>,
  progress: Progress,
): CommitRefusal | undefined {
  // Of several batches with the same row, the first has inserted it.
  if (!inserted.delete(row.id)) return { reason: 'exists', id: row.id }
  record({ op: 'insert', row }, progress)
  progress.events.push(...eventsOf(batch))
  return undefined
}

/** Writes the changes, the events and the counters of a transaction. */
function* writeLog(sql: Statements, progress: Progress): Steps<void> {
  const { start } = progress
  const changes = progress.changes.map(({ revision, kind, id, op }) => [revision, kind, id, op])
  const events = progress.events.map(({ id, type, at, body }, index) => [
    start.sequence + index + 1,
    id,
    type,
    at,
    body,
  ])
  const counter = [latestRevision(progress), latestSequence(progress)]
  if (sql.inBulk !== undefined) {
    yield* query(sql.inBulk.writeLog, JSON.stringify(changes), JSON.stringify(events), ...counter)
    return
  }
  for (const change of changes) yield* query(sql.insertChange, ...change)
  for (const event of events) yield* query(sql.insertEvent, ...event)
  yield* query(sql.writeCounter, ...counter)
}

/** Takes the lock that all writers share, then reads the counters. */
export function* lockCounter(sql: Statements): Steps<Counter> {
  const [counter] = yield* query<Counter>(sql.lockCounter)
  const { revision, sequence } = requireCounter(counter)
  return { revision, sequence }
}

function requireCounter(counter: Counter | undefined): Counter {
  if (counter === undefined) throw new StoreError('unusable', 'The database has lost its counter row.')
  return counter
}

/**
 * A rejected batch is rolled back alone, which takes a savepoint unless it has the transaction for itself, or is
 * rejected before it has changed anything.
 */
function* applyBatch(
  sql: Statements,
  batch: Batch,
  progress: Progress,
  isAlone: boolean,
): Steps<CommitRefusal | undefined> {
  const { changes, written, events } = progress
  const before = [changes.length, written.length, events.length] as const
  const isGuarded = !isAlone && isRejectedLate(batch)
  if (isGuarded) yield* query(sql.savepoint)
  const refusal = yield* applyWrites(sql, batch, progress)
  if (refusal !== undefined) {
    if (isGuarded) yield* query(sql.undo)
    ;[changes.length, written.length, events.length] = before
  }
  if (isGuarded) yield* query(sql.release)
  return refusal
}

function* applyWrites(sql: Statements, batch: Batch, progress: Progress): Steps<CommitRefusal | undefined> {
  for (const write of batch) {
    const refusal = yield* applyWrite(sql, write, progress)
    if (refusal !== undefined) return refusal
  }
  return undefined
}

function* applyWrite(sql: Statements, write: Write, progress: Progress): Steps<CommitRefusal | undefined> {
  switch (write.op) {
    case 'insert':
    case 'update':
      return yield* put(sql, write, progress)
    case 'remove':
      return yield* remove(sql, write, progress)
    case 'expect': {
      const standing = yield* standingRows(sql, [write.id])
      return standing.get(write.id)?.version === write.version ? undefined : { reason: 'stale', id: write.id }
    }
    case 'event':
      progress.events.push(write.event)
      return undefined
  }
}

function* put(
  sql: Statements,
  { op, entry }: Extract<Write, { entry: RowEntry }>,
  progress: Progress,
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
  return refusal ?? record({ op, row: entry.row }, progress)
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
  progress: Progress,
): Steps<CommitRefusal | undefined> {
  const row = (yield* standingRows(sql, [id])).get(id)
  if (row?.version !== version) return { reason: 'stale', id }

  const [dependent] = yield* query<{ id: string | null }>(sql.dependent, id)
  if (typeof dependent?.id === 'string') return { reason: 'in_use', id, by: dependent.id }

  yield* query(sql.removeRow, id)
  return record({ op: 'remove', row }, progress)
}

type Recorded =
  { readonly op: 'insert' | 'update'; readonly row: Row } | { readonly op: 'remove'; readonly row: Standing }

function record({ op, row }: Recorded, progress: Progress): undefined {
  const { kind, id } = row
  progress.changes.push({ revision: latestRevision(progress) + 1, kind, id, op })
  progress.written.push(op === 'remove' ? undefined : row)
}

function* standingRows(sql: Statements, ids: readonly string[]): Steps<Map<string, Standing>> {
  const [only = ''] = ids
  // Most writes concern one row, for which SQLite need not expand a list.
  const rows = yield* ids.length === 1
    ? query<Standing>(sql.standing, only.toWellFormed())
    : query<Standing>(sql.standingAmong, idList(ids))
  return new Map(rows.map(row => [row.id, row]))
}
