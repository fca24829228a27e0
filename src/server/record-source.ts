import { deserialize } from '#api/records.ts'
import { type Background, guarded, inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import type { Sealer } from '#base/secrets.ts'
import { isPlainObject, objectInText } from '#base/plain-object.ts'
import { kinds as collections } from '#contract/kinds/index.ts'
import type { Kind } from '#contract/kind.ts'
import type { Follower, Source, SourceChange, SourceRow } from '#registry/records/source.ts'
import { rowsOf } from '#store/rows-of.ts'
import type { RowChange, Row, Store } from '#store/store.ts'

const PAGE = 1000
const POLL_MS = 2000

/** Rows of the server's own kinds, such as ACME challenges, have no secret fields. */
const published: ReadonlyMap<string, Kind> = new Map(
  Object.values(collections).map(kind => [kind.name, kind]),
)

/** The revision that a reader is to reach. */
type Target = number | 'latest'

interface RecordSourceOptions {
  readonly store: Store
  readonly sealer: Sealer
  readonly log: Log
  /** Poll interval of the store; a change by another process is seen by then. */
  readonly pollMs?: number
}

/** Feeds the gateway with the store's rows. While the store fails, the last known state is used. */
export class RecordSource implements Source {
  readonly #options: RecordSourceOptions
  readonly #wakers = new Set<(target: Target) => void>()
  readonly #readers = new Set<Reader>()
  #failures = 0

  constructor(options: RecordSourceOptions) {
    this.#options = options
  }

  /** The change that every follower has applied; 0 without followers. */
  get revision(): number {
    return this.#readers.size === 0 ? 0 : Math.min(...[...this.#readers].map(({ revision }) => revision))
  }

  /** How often changes could not be read, or secrets not be decrypted. */
  get failures(): number {
    return this.#failures
  }

  /** A write was committed, as this revision if it is known: read it now instead of at the next poll. */
  notify(target: Target = 'latest'): void {
    for (const wake of this.#wakers) wake(target)
  }

  /** Resolves when the followers have applied all changes of which they were notified, or could not read them. */
  async applied(): Promise<void> {
    await Promise.all([...this.#readers].map(reader => reader.applied))
  }

  async refresh(): Promise<void> {
    this.notify()
    await this.applied()
  }

  async watch(kinds: readonly string[], follower: Follower): Promise<() => void> {
    const failed = (): void => void this.#failures++
    const reader = new Reader({ ...this.#options, failed }, new Set(kinds), follower)
    await reader.load()
    this.#readers.add(reader)
    const wake = (target: Target) => reader.wake(target)
    this.#wakers.add(wake)
    // Writes between the snapshot and here sent no notification.
    reader.wake()
    return () => {
      this.#wakers.delete(wake)
      this.#readers.delete(reader)
      reader.stop()
    }
  }
}

interface ReaderOptions extends RecordSourceOptions {
  readonly failed: () => void
}

/** One follower's position in the change log. */
class Reader {
  readonly #options: ReaderOptions
  readonly #kinds: ReadonlySet<string>
  readonly #follower: Follower
  #revision = 0
  #running = false
  #target: Target | undefined
  /** Rows were read from the database, so some may be newer than the revision: the next one must be read after them. */
  #isAhead = true
  #pass: Promise<void> = Promise.resolve()
  #nextPass = Promise.withResolvers<void>()
  #stopped = false
  #failing = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: ReaderOptions, kinds: ReadonlySet<string>, follower: Follower) {
    this.#options = options
    this.#kinds = kinds
    this.#follower = follower
  }

  get revision(): number {
    return this.#revision
  }

  /** The end of the pass that reads what was committed until now; not of all passes, which may never end. */
  get applied(): Promise<void> {
    return this.#target === undefined ? this.#pass : this.#nextPass.promise
  }

  /** An error of a follower is its own: the store was read, and the others continue. */
  get #background(): Background {
    return { task: 'configuration', log: this.#options.log, failed: 'a change could not be applied' }
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  wake(target: Target = 'latest'): void {
    if (this.#target !== 'latest') this.#target = target
    if (!this.#running) void inBackground(this.#background, () => this.#run())
  }

  /** Reads everything. The revision is read first: concurrent changes are then read again as changes. */
  async load(): Promise<void> {
    const { store } = this.#options
    const revision = await store.revision()
    this.#isAhead = true
    const rows: SourceRow[] = []
    for (const kind of this.#kinds) for await (const row of rowsOf(store, kind)) rows.push(this.#open(row))
    if (this.#stopped) return
    this.#revision = revision
    guarded(this.#background, () => this.#follower.snapshot(rows))
  }

  async #run(): Promise<void> {
    this.#running = true
    clearTimeout(this.#timer)
    try {
      while (this.#target !== undefined && !this.#stopped) {
        const target = this.#target
        this.#target = undefined
        await this.#runPass(target)
      }
      this.#failing = false
    } catch (error) {
      this.#options.failed()
      // Once per failure, not once per poll.
      if (!this.#failing) this.#options.log.warn({ error }, 'the store cannot be read; serving what is known')
      this.#failing = true
    }
    this.#running = false
    if (this.#stopped) return
    this.#timer = setTimeout(() => this.wake(), this.#options.pollMs ?? POLL_MS).unref()
  }

  async #runPass(target: Target): Promise<void> {
    const { promise, resolve } = this.#nextPass
    this.#nextPass = Promise.withResolvers()
    this.#pass = promise
    try {
      await this.#catchUp(target)
    } finally {
      resolve()
    }
  }

  /** Later changes than the latest at its start have a pass of their own. */
  async #catchUp(target: Target): Promise<void> {
    const { store } = this.#options
    const isKnown = target !== 'latest' && target > this.#revision && !this.#isAhead
    const latest = isKnown ? target : await store.revision()
    this.#isAhead = false
    // It is another database.
    if (latest < this.#revision) return this.load()
    while (this.#revision < latest) {
      const changes = await store.changes(this.#revision, PAGE, latest)
      // A gap: changes were pruned before they were read, or it is another database.
      if (changes[0]?.revision !== this.#revision + 1) return this.load()
      const batch = await this.#resolve(changes, latest)
      if (this.#stopped) return
      this.#revision = changes.at(-1)?.revision ?? latest
      if (batch.length > 0) guarded(this.#background, () => this.#follower.changes(batch))
    }
  }

  /** Each row once, at its last change. */
  async #resolve(changes: readonly RowChange[], known: number): Promise<SourceChange[]> {
    const ours = changes.filter(({ kind }) => this.#kinds.has(kind))
    if (ours.length === 0) return []
    const last = new Map(ours.map(({ id, revision }) => [id, revision]))
    const latest = ours.filter(({ id, revision }) => last.get(id) === revision)
    const recent = this.#isAhead ? undefined : this.#options.store.recentRows(latest, known)
    const rows = recent ?? (await this.#read(latest))
    const byId = new Map(rows.map(row => [row.id, row]))
    return latest.map(({ kind, id }) => {
      const row = byId.get(id)
      return row === undefined ? { op: 'remove', kind, id } : { op: 'put', row: this.#open(row) }
    })
  }

  #read(changes: readonly RowChange[]): Promise<Row[]> {
    this.#isAhead = true
    return this.#options.store.getMany(changes.map(({ id }) => id))
  }

  #open(row: Row): SourceRow {
    const { kind, id, parent, version } = row
    try {
      const shape = published.get(kind)
      const body = shape ? deserialize(shape, row, this.#options) : (JSON.parse(row.body) as unknown)
      return { kind, id, parent, version, body: requireObject(body), readable: true }
    } catch (error) {
      this.#options.failed()
      this.#options.log.error({ error, id }, 'a resource cannot be read')
      // Non-secret fields identify its place, if there are any.
      return { kind, id, parent, version, body: objectInText(row.body), readable: false }
    }
  }
}

function requireObject(value: unknown): SourceRow['body'] {
  if (isPlainObject(value)) return value
  throw new TypeError('The text of a row is not a JSON object.')
}
