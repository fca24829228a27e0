import pg from 'pg'
import { postgres } from '#store/dialect.ts'
import type { AsyncSteps, Columns, CopyEngine, Step, Steps } from '#store/engine.ts'
import { measured, type StoreObserver } from '#store/measured-engine.ts'
import { checkInstallation, migrate } from '#store/migrations.ts'
import { SqlStore } from '#store/sql-store.ts'
import { StoreError } from '#store/store-error.ts'
import type { Store } from '#store/store.ts'

const INT8_OID = 20

export const connection = {
  application_name: 'adit',
  connectionTimeoutMillis: 5_000,
  keepAlive: true,
  // Counters stay far below 2^53, so they need not be strings.
  types: {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === INT8_OID ? Number : pg.types.getTypeParser(oid, format),
  },
} satisfies pg.PoolConfig

export const working = {
  max: 10,
  // Every statement uses an index. A plan is kept for the life of a connection, so one made while a table was small
  // must not scan it when it is large.
  onConnect: client => client.query('SET enable_seqscan = off; SET jit = off'),
  idleTimeoutMillis: 30_000,
  statement_timeout: 10_000,
  // For a server that no longer responds, and so cannot apply its own timeout.
  query_timeout: 15_000,
  // A process that hangs inside a transaction must not hold the lock that all writers need.
  idle_in_transaction_session_timeout: 10_000,
} satisfies pg.PoolConfig

/** A migration may take long, but not wait long for another process's migration. */
const migrating = { max: 1, lock_timeout: 60_000 } satisfies pg.PoolConfig

/** Opens the database behind a `postgresql:` URL and brings its schema up to date. */
export async function openPostgres(url: string, observer?: StoreObserver): Promise<Store> {
  const migrator = openEngine(url, migrating)
  try {
    await migrator.run(migrate(postgres))
  } finally {
    await migrator.close()
  }
  return new SqlStore(measured(openEngine(url, working), observer))
}

export function openEngine(url: string, config: pg.PoolConfig): PostgresEngine {
  try {
    return new PostgresEngine(new pg.Pool({ ...connection, ...config, connectionString: url }))
  } catch (error) {
    throw new StoreError('unusable', 'The database URL cannot be read.', { cause: error })
  }
}

/** Opens the database for a copy: with one connection, and only while no other Adit process uses it. */
export async function openPostgresForCopy(url: string, use: 'source' | 'target'): Promise<CopyEngine> {
  const engine = openEngine(url, migrating)
  try {
    await engine.run(use === 'source' ? checkInstallation(postgres) : migrate(postgres))
    const others = await engine.read({ text: OTHERS, values: [] })
    if (others.length > 0)
      throw new StoreError('locked', 'Another process uses the PostgreSQL database: stop that server first.')
    return engine
  } catch (error) {
    await engine.close()
    throw error
  }
}

const OTHERS = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'adit' AND pid <> pg_backend_pid()`

export class PostgresEngine implements CopyEngine {
  readonly dialect = postgres
  readonly alone = false
  readonly #pool: pg.Pool
  readonly #names = new Map<string, string>()

  constructor(pool: pg.Pool) {
    // A lost connection is replaced on demand; its current user gets the error of the query. Without listeners both
    // events would crash the process.
    const ignore = () => undefined
    pool.on('error', ignore)
    pool.on('connect', client => client.on('error', ignore))
    this.#pool = pool
  }

  /** Several processes may always use it. */
  share(): void {}

  async own(): Promise<void> {}

  async read({ text, values }: Step): Promise<readonly Columns[]> {
    const config = { name: this.#nameOf(text), text, values: [...values], rowMode: 'array' as const }
    const { rows } = await this.#pool.query<unknown[]>(config).catch(rethrow)
    return rows
  }

  run<Result>(steps: Steps<Result>): Promise<Result> {
    return this.#run(steps)
  }

  runSlowly<Result>(steps: AsyncSteps<Result>): Promise<Result> {
    return this.#run(steps)
  }

  async #run<Result>(steps: Steps<Result> | AsyncSteps<Result>): Promise<Result> {
    const client = await this.#pool.connect().catch(rethrow)
    try {
      let step = await steps.next()
      while (!step.done) step = await steps.next(await this.#rows(client, step.value))
      client.release()
      return step.value
    } catch (error) {
      await giveBack(client, error)
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#pool.end().catch(rethrow)
  }

  async #rows(client: pg.PoolClient, { text, values }: Step): Promise<readonly unknown[]> {
    const named = { name: this.#nameOf(text), text, values: [...values] }
    const { command, rows } = await client
      .query<object>(named)
      .catch(text === 'COMMIT' ? rethrowCommit : rethrow)
    // PostgreSQL responds to the COMMIT of a failed transaction with success, having rolled it back.
    if (text === 'COMMIT' && command !== 'COMMIT') {
      throw new StoreError('unusable', `The database answered COMMIT with ${command}.`)
    }
    return rows
  }

  /** A named statement is parsed once per connection. */
  #nameOf(text: string): string {
    const name = this.#names.get(text) ?? `adit_${this.#names.size}`
    this.#names.set(text, name)
    return name
  }
}

/** Ends the failed transaction, or the connection if it may still be busy or is broken. */
async function giveBack(client: pg.PoolClient, error: unknown): Promise<void> {
  if (error instanceof StoreError && (error.code === 'unavailable' || error.code === 'uncertain')) {
    client.release(true)
    return
  }
  try {
    await client.query('ROLLBACK')
    client.release()
  } catch {
    client.release(true)
  }
}

/** The result of a commit whose response was lost is unknown. */
function rethrowCommit(error: unknown): never {
  const problem = toStoreError(error)
  if (problem.code !== 'unavailable') throw problem
  throw new StoreError('uncertain', 'The connection broke during a commit.', { cause: error })
}

function rethrow(error: unknown): never {
  throw toStoreError(error)
}

/** Server errors have a five-character SQLSTATE; all others are about the connection. */
export function toStoreError(error: unknown): StoreError {
  const because = { cause: error }
  const code = error instanceof pg.DatabaseError ? (error.code ?? '') : ''
  if (code === '53100') return new StoreError('full', 'The disk of the database server is full.', because)
  if (code === '55P03') return new StoreError('locked', 'Another process holds a lock for too long.', because)
  if (code === '' || isPassing(code)) {
    return new StoreError('unavailable', 'The database server does not respond.', because)
  }
  return new StoreError('unusable', `The database server refused the work (SQLSTATE ${code}).`, because)
}

/**
 * Connection failures (08), read-only during a failover (25006), conflicts (40), insufficient resources (53), and
 * operator intervention or timeouts (57).
 */
const isPassing = (code: string): boolean => /^(08|40|53|57)/.test(code) || code === '25006'
