import { closeSync, openSync, realpathSync } from 'node:fs'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { sqlite } from '#store/dialect.ts'
import type { AsyncSteps, Columns, CopyEngine, Step, Steps } from '#store/engine.ts'
import { measured, type StoreObserver } from '#store/measured-engine.ts'
import { checkInstallation, checkSchema, migrate } from '#store/migrations.ts'
import { SqlStore } from '#store/sql-store.ts'
import { StoreError } from '#store/store-error.ts'
import type { Store } from '#store/store.ts'

/** How long a write waits for another program's lock; it blocks the whole process. */
const BUSY_TIMEOUT_MS = 1000

// https://sqlite.org/rescode.html
const BUSY = 5
const LOCKED = 6
const IO_ERROR = 10
const FULL = 13
/** The file beside the database that holds the index of its WAL could not grow. */
const IO_ERROR_SHM_SIZE = 4874

/**
 * Opens the database file, creating it if needed. `:memory:` is lost when closed. `shared`: another process has it
 * open, shares it, and is about to release it.
 */
export async function openSqlite(
  file: string,
  observer?: StoreObserver,
  { shared = false }: { readonly shared?: boolean } = {},
): Promise<Store> {
  const engine = openEngine(file, shared)
  try {
    await engine.run(shared ? checkSchema(sqlite) : migrate(sqlite))
  } catch (error) {
    await engine.close()
    throw error
  }
  return new SqlStore(measured(engine, observer))
}

/** Opens the file for a copy, and locks out all other processes. */
export async function openSqliteForCopy(file: string, use: 'source' | 'target'): Promise<CopyEngine> {
  const engine = openEngine(file, false)
  try {
    await engine.run(use === 'source' ? checkInstallation(sqlite) : migrate(sqlite))
    return engine
  } catch (error) {
    await engine.close()
    throw error
  }
}

function openEngine(file: string, shared: boolean): SqliteEngine {
  if (file === ':memory:') return new SqliteEngine(new DatabaseSync(file), undefined)
  const path = createPrivately(file)
  const lock = new FileLock(`${path}.lock`)
  try {
    if (!shared) lock.take()
    return openFile(path, lock)
  } catch (error) {
    lock.free()
    throw toStoreError(error)
  }
}

function openFile(path: string, lock: FileLock): SqliteEngine {
  try {
    return engineOn(path, lock, 'shared')
  } catch (error) {
    const problem = toStoreError(error)
    // A process that takes over shares the file with the running one.
    if (problem.code !== 'full' || !lock.isHeld) throw problem
    // On a full disk the WAL index file cannot be created; a single user may keep that index in memory.
    return engineOn(path, lock, 'alone')
  }
}

function engineOn(path: string, lock: FileLock, use: 'shared' | 'alone'): SqliteEngine {
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS })
  try {
    if (use === 'alone') database.exec('PRAGMA locking_mode = EXCLUSIVE')
    return new SqliteEngine(database, lock)
  } catch (error) {
    database.close()
    throw toStoreError(error)
  }
}

/** Creates the file with private permissions, and resolves links so that one file has one lock. */
function createPrivately(file: string): string {
  try {
    closeSync(openSync(file, 'a', 0o600))
    return realpathSync(file)
  } catch (error) {
    throw new StoreError('unusable', `The database file ${file} cannot be opened.`, { cause: error })
  }
}

/**
 * Locks out other processes as long as this one lives. The lock is on a separate file, so that other programs may still
 * read the database, and is the operating system's, so that even SIGKILL releases it.
 */
class FileLock {
  readonly #path: string
  #held: DatabaseSync | undefined

  constructor(path: string) {
    this.#path = path
  }

  get isHeld(): boolean {
    return this.#held !== undefined
  }

  take(): void {
    if (this.#held) return
    let lock: DatabaseSync | undefined
    try {
      lock = new DatabaseSync(createPrivately(this.#path), { timeout: 0 })
      // Nothing is ever written to it, so it needs no journal, for which a full disk has no room.
      lock.exec('PRAGMA journal_mode = OFF; BEGIN EXCLUSIVE')
      this.#held = lock
    } catch (error) {
      lock?.close()
      const problem = toStoreError(error)
      if (problem.code !== 'locked') throw problem
      const text = `Another process uses this database: it holds ${this.#path}. Adit is running already with this data folder; stop it, or choose another one with ADIT_DATA_DIR.`
      throw new StoreError('locked', text, { cause: error })
    }
  }

  free(): void {
    this.#held?.close()
    this.#held = undefined
  }
}

const BEGIN_READING: Step = { text: 'BEGIN', values: [] }
const STOP_READING: Step = { text: 'COMMIT', values: [] }

class SqliteEngine implements CopyEngine {
  readonly dialect = sqlite
  readonly connections = 1
  readonly #database: DatabaseSync
  readonly #lock: FileLock | undefined
  #alone: boolean
  /** Statements whose rows are objects, and those whose rows are lists. */
  readonly #prepared = new Map<string, StatementSync>()
  readonly #reading = new Map<string, StatementSync>()
  #isReading = false

  constructor(database: DatabaseSync, lock: FileLock | undefined) {
    // FULL: commits survive a power loss, not only a crash of the process.
    database.exec(`
      PRAGMA journal_mode = WAL;
      PRAGMA synchronous = FULL;
      PRAGMA foreign_keys = ON;
      PRAGMA journal_size_limit = 67108864;
      PRAGMA cache_size = -16384;
    `)
    this.#database = database
    this.#lock = lock
    this.#alone = lock?.isHeld ?? true
  }

  get alone(): boolean {
    return this.#alone
  }

  /** The lock stays: it locks out all others. */
  share(): void {
    this.#alone = false
  }

  async own(): Promise<void> {
    this.#lock?.take()
    this.#alone = true
  }

  async read({ text, values }: Step): Promise<readonly Columns[]> {
    try {
      this.#startReading()
      return this.#prepare(text, this.#reading).all(...values) as unknown as Columns[]
    } catch (error) {
      throw toStoreError(error)
    }
  }

  /**
   * Lets the reads of one turn of the event loop share a transaction: taking and releasing the lock costs as much as
   * the look-up itself.
   */
  #startReading(): void {
    if (this.#isReading || this.#database.isTransaction) return
    this.#rows(BEGIN_READING)
    this.#isReading = true
    setImmediate(() => this.#stopReading())
  }

  #stopReading(): void {
    if (!this.#isReading) return
    this.#isReading = false
    if (this.#database.isOpen) this.#rows(STOP_READING)
  }

  async run<Result>(steps: Steps<Result>): Promise<Result> {
    return this.#runNow(steps)
  }

  async runSlowly<Result>(steps: AsyncSteps<Result>): Promise<Result> {
    this.#stopReading()
    try {
      let step = await steps.next()
      while (!step.done) step = await steps.next(this.#rows(step.value))
      return step.value
    } catch (error) {
      this.#rollBack()
      throw error
    }
  }

  async close(): Promise<void> {
    this.#stopReading()
    this.#prepared.clear()
    this.#reading.clear()
    if (this.#database.isOpen) this.#database.close()
    this.#lock?.free()
  }

  /** Synchronous from the first step to the last, so that no other work gets into a transaction. */
  #runNow<Result>(steps: Steps<Result>): Result {
    this.#stopReading()
    try {
      let step = steps.next()
      while (!step.done) step = steps.next(this.#rows(step.value))
      return step.value
    } catch (error) {
      this.#rollBack()
      throw error
    }
  }

  #rows({ text, values }: Step): readonly unknown[] {
    try {
      return this.#prepare(text, this.#prepared).all(...values)
    } catch (error) {
      throw toStoreError(error)
    }
  }

  #prepare(text: string, prepared: Map<string, StatementSync>): StatementSync {
    const known = prepared.get(text)
    if (known !== undefined) return known
    const statement = this.#database.prepare(text.replaceAll('$', '?'))
    statement.setReturnArrays(prepared === this.#reading)
    prepared.set(text, statement)
    return statement
  }

  /** SQLite itself has rolled back after some failures, such as a full disk, but not after all. */
  #rollBack(): void {
    if (!this.#database.isOpen || !this.#database.isTransaction) return
    try {
      this.#database.exec('ROLLBACK')
    } catch {
      // The first failure is what the caller needs to know.
    }
  }
}

function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const because = { cause: error }
  if (!(error instanceof Error) || !('errcode' in error)) {
    const closed = error instanceof Error && 'code' in error && error.code === 'ERR_INVALID_STATE'
    return closed
      ? new StoreError('unavailable', 'The database is closed.', because)
      : new StoreError('unusable', 'SQLite was given what it cannot take.', because)
  }
  const result = Number(error.errcode)
  if (result === IO_ERROR_SHM_SIZE)
    return new StoreError('full', 'The disk of the database is full.', because)

  switch (result & 0xff) {
    case FULL:
      return new StoreError('full', 'The disk of the database is full.', because)
    case BUSY:
    case LOCKED:
      return new StoreError('locked', 'Another program holds a lock on the database.', because)
    case IO_ERROR:
      return new StoreError('unavailable', 'The disk of the database failed to read or write.', because)
    default:
      return new StoreError('unusable', `SQLite refused the work (result ${result}).`, because)
  }
}
