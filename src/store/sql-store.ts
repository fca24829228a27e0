import { randomBytes } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { commitGroup, insertGroup, idList, lockCounter, type CommittedGroup } from '#store/apply.ts'
import { query, type Columns, type Engine, type Steps, type SqlValue } from '#store/engine.ts'
import { GroupCommit } from '#store/group-commit.ts'
import { pageOfRows, statements, type Statements } from '#store/statements.ts'
import { RecentChanges } from '#store/recent-changes.ts'
import { SharedRead } from '#store/shared-read.ts'
import { StoreError } from '#store/store-error.ts'
import { SqlUsage } from '#store/sql-usage.ts'
import type { UsageStore } from '#store/usage.ts'
import type {
  RowChange,
  Claim,
  EventRecord,
  CommitOutcome,
  RowPage,
  PruneLimits,
  Row,
  Store,
  Write,
} from '#store/store.ts'

const PRUNE_CHUNK = 1000
/** More than the rest of a page. Random, because PostgreSQL compresses what repeats. */
const TRIAL_BYTES = 131_072

/** PostgreSQL cannot store the NUL character, so no store does. */
const hasNul = (value: unknown): boolean =>
  typeof value === 'string'
    ? value.includes('\0')
    : typeof value === 'object' && value !== null && Object.values(value).some(hasNul)

function refuseNul(value: unknown): void {
  if (hasNul(value)) throw new StoreError('unusable', 'A NUL character cannot be stored.')
}

/** The store, for any engine. */
export class SqlStore implements Store {
  readonly usage: UsageStore
  readonly #engine: Engine
  readonly #sql: Statements
  readonly #group: GroupCommit
  /** The cached `revision` while no other process can change it; read again after a failed commit. */
  #revision: number | undefined
  readonly #recent = new RecentChanges()
  /** Every API request needs it: those that come at once share a query. */
  readonly #sharedRevision = new SharedRead(() => this.#readRevision())
  #closing: Promise<void> | undefined
  readonly #listeners: ((revision: number) => void)[] = []

  constructor(engine: Engine) {
    const sql = statements(engine.dialect)
    this.#engine = engine
    this.#sql = sql
    this.usage = new SqlUsage(engine)
    this.#group = new GroupCommit(batches => this.#commitGroup(batches))
  }

  async get(id: string): Promise<Row | undefined> {
    if (hasNul(id)) return undefined
    const [row] = await this.#engine.read({ text: this.#sql.row, values: [id] })
    return row && toRow(row)
  }

  getMany(ids: readonly string[]): Promise<Row[]> {
    return this.#rows(this.#sql.rows, idList(ids.filter(id => !hasNul(id))))
  }

  async holder({ namespace, value }: Claim): Promise<Row | undefined> {
    const [row] = await this.#rows(this.#sql.holder, namespace, value)
    return row
  }

  list(kind: string, { parent, before, limit }: RowPage): Promise<Row[]> {
    const text = pageOfRows({ parent: parent !== undefined, before: before !== undefined })
    const given = [kind, parent, before, limit].filter(value => value !== undefined)
    return this.#rows(text, ...given)
  }

  referrers(id: string, limit: number): Promise<Row[]> {
    return this.#rows(this.#sql.referrers, id, limit)
  }

  async commit(batch: readonly Write[]): Promise<CommitOutcome> {
    refuseNul(batch)
    return this.#group.commit(batch)
  }

  onCommit(listener: (revision: number) => void): void {
    this.#listeners.push(listener)
  }

  revision(): Promise<number> | number {
    if (!this.#engine.alone) return this.#sharedRevision.result()
    return this.#revision ?? this.#cacheRevision()
  }

  async #cacheRevision(): Promise<number> {
    return (this.#revision = await this.#readRevision())
  }

  async #readRevision(): Promise<number> {
    const [counter] = await this.#read(this.#sql.readCounter)
    if (counter === undefined) throw new StoreError('unusable', 'The database has lost its counter row.')
    return Number(counter[0])
  }

  async changes(after: number, limit: number, known?: number): Promise<RowChange[]> {
    const { alone, connections } = this.#engine
    const needed = { after, known: known ?? (alone ? after : Infinity), connections }
    const recent = this.#recent.changes(needed, limit)
    if (recent !== undefined) return recent
    return (await this.#read(this.#sql.changes, after, limit)).map(toChange)
  }

  recentRows(changes: readonly RowChange[], known: number): Row[] | undefined {
    return this.#recent.rows(changes, { known, connections: this.#engine.connections })
  }

  async events(after: number, limit: number): Promise<(EventRecord & { readonly sequence: number })[]> {
    return (await this.#read(this.#sql.events, after, limit)).map(toEvent)
  }

  async lastSequence(): Promise<number> {
    const [counter] = await this.#read(this.#sql.readCounter)
    return Number(counter?.[1] ?? 0)
  }

  async event(id: string): Promise<EventRecord | undefined> {
    const [found] = await this.#read(this.#sql.event, id)
    return found && toEvent(found)
  }

  async newestEvents({ before, limit }: { before?: string; limit: number }): Promise<EventRecord[]> {
    const found = await (before === undefined
      ? this.#read(this.#sql.newestEvents, limit)
      : this.#read(this.#sql.eventsBefore, before, limit))
    return found.map(toEvent)
  }

  async readMeta(key: string): Promise<string | undefined> {
    const [meta] = await this.#read(this.#sql.readMeta, key)
    return meta && String(meta[0])
  }

  async claimMeta(key: string, value: string): Promise<string> {
    refuseNul([key, value])
    return this.#engine.run(claimMeta(this.#sql, key, value))
  }

  async prune({ changesUpTo, eventsBefore, eventsUpTo }: PruneLimits): Promise<void> {
    this.#recent.clear()
    await this.#removeInChunks(this.#sql.pruneChanges, changesUpTo)
    await this.#removeInChunks(this.#sql.pruneEvents, eventsBefore, eventsUpTo ?? Number.MAX_SAFE_INTEGER)
  }

  async ping(): Promise<void> {
    await this.#readRevision()
  }

  tryWrite(): Promise<void> {
    return this.#engine.run(tryWrite(this.#sql))
  }

  share(): void {
    this.#engine.share()
  }

  async own(): Promise<void> {
    await this.#engine.own()
    // The other process's last changes are unknown here.
    this.#revision = undefined
    this.#recent.clear()
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#group.close()
    await this.#engine.close()
    this.#revision = undefined
  }

  async #commitGroup(batches: readonly (readonly Write[])[]): Promise<readonly CommitOutcome[]> {
    this.#revision = undefined
    const { connections } = this.#engine
    const group = await this.#runGroup(batches)
    const { outcomes } = group
    const latest = outcomes.findLast(outcome => outcome.ok)
    if (latest) {
      this.#revision = latest.revision
      this.#recent.add(group, connections)
      for (const listener of this.#listeners) listener(latest.revision)
    }
    return outcomes
  }

  async #runGroup(batches: readonly (readonly Write[])[]): Promise<CommittedGroup> {
    try {
      return (await this.#insertGroup(batches)) ?? (await this.#engine.run(commitGroup(this.#sql, batches)))
    } catch (error) {
      // It may have been committed nevertheless.
      this.#recent.clear()
      throw error
    }
  }

  /** Undefined if the batches need the statements that tell which of them are rejected. */
  async #insertGroup(batches: readonly (readonly Write[])[]): Promise<CommittedGroup | undefined> {
    const steps = insertGroup(this.#sql, batches)
    try {
      return steps && (await this.#engine.run(steps))
    } catch (error) {
      if (error instanceof StoreError && error.code === 'unusable') return undefined
      throw error
    }
  }

  async #read(text: string, ...values: readonly SqlValue[]): Promise<readonly Columns[]> {
    return values.some(hasNul) ? [] : this.#engine.read({ text, values })
  }

  async #rows(text: string, ...values: readonly SqlValue[]): Promise<Row[]> {
    return (await this.#read(text, ...values)).map(toRow)
  }

  /** Small transactions with pauses between them, so that other work is never blocked for long. */
  async #removeInChunks(text: string, ...limits: readonly SqlValue[]): Promise<void> {
    for (;;) {
      const removed = await this.#read(text, ...limits, PRUNE_CHUNK)
      if (removed.length < PRUNE_CHUNK) return
      await nextTurn()
    }
  }
}

// Columns in the order of their SELECT in statements.ts. Access by index is several times as fast as destructuring.

const toRow = (at: Columns): Row =>
  ({ id: at[0], kind: at[1], parent: at[2], version: at[3], body: at[4] }) as Row

const toChange = (at: Columns): RowChange =>
  ({ revision: at[0], kind: at[1], id: at[2], op: at[3] }) as RowChange

const toEvent = (at: Columns): EventRecord & { sequence: number } =>
  ({ sequence: at[0], id: at[1], type: at[2], at: at[3], body: at[4] }) as EventRecord & { sequence: number }

/** A change of a row may find room in a page of a full disk, so this also needs pages that the database must get. */
function* tryWrite(sql: Statements): Steps<void> {
  yield* query(sql.begin)
  yield* lockCounter(sql)
  yield* query(sql.savepoint)
  yield* query(sql.insertMeta, 'write_trial', randomBytes(TRIAL_BYTES).toString('base64'))
  yield* query(sql.undo)
  yield* query(sql.touchCounter)
  yield* query(sql.commit)
}

function* claimMeta(sql: Statements, key: string, value: string): Steps<string> {
  yield* query(sql.begin)
  yield* lockCounter(sql)
  yield* query(sql.insertMeta, key, value)
  const [meta] = yield* query<{ value: string }>(sql.readMeta, key)
  yield* query(sql.commit)
  return meta?.value ?? value
}
