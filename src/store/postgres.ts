import pg from 'pg'
import { postgres } from '#store/dialect.ts'
import type { AsyncSteps, Columns, CopyEngine, Step, Steps } from '#store/engine.ts'
import { measured, type StoreObserver } from '#store/measured-engine.ts'
import { checkInstallation, migrate } from '#store/migrations.ts'
import { SqlStore } from '#store/sql-store.ts'
import { PostgresHosts, type SessionParameters } from '#store/postgres-hosts.ts'
import { refuseTransactionPooling } from '#store/postgres-pooling.ts'
import { checkVersion } from '#store/postgres-version.ts'
import { StoreError, type StoreErrorCode } from '#store/store-error.ts'
import type { Store } from '#store/store.ts'

export const working = {
  pool: {
    max: 10,
    idleTimeoutMillis: 30_000,
    // For a server that no longer responds, and so cannot apply its own timeout.
    query_timeout: 15_000,
  },
  session: {
    // Every statement uses an index. A plan is kept for the life of a connection, so one made while a table was small
    // must not scan it when it is large.
    enable_seqscan: 'off',
    jit: 'off',
    statement_timeout: 10_000,
    // For a transaction that is one statement; the others name it themselves.
    default_transaction_isolation: "'read committed'",
    // A process that hangs inside a transaction must not hold the lock that all writers need.
    idle_in_transaction_session_timeout: 10_000,
  },
} satisfies EngineConfig

/** A migration may take long, but not wait long for another process's migration. */
const migrating = { pool: { max: 1 }, session: { lock_timeout: 60_000 } } satisfies EngineConfig

interface EngineConfig {
  readonly pool: pg.PoolConfig
  readonly session: SessionParameters
}

/** Opens the database behind a `postgresql:` URL and brings its schema up to date. */
export async function openPostgres(url: string, observer?: StoreObserver): Promise<Store> {
  const hosts = new PostgresHosts(url)
  await refuseTransactionPooling(hosts).catch(rethrow)
  const migrator = openEngine(hosts, migrating)
  try {
    await migrator.run(checkVersion())
    await migrator.run(migrate(postgres))
  } finally {
    await migrator.close()
  }
  return new SqlStore(measured(openEngine(hosts, working), observer))
}

export const openEngine = (hosts: PostgresHosts, { pool, session }: EngineConfig): PostgresEngine =>
  new PostgresEngine(hosts, hosts.pool(pool, session))

/** Opens the database for a copy: with one connection, and only while no other Adit process uses it. */
export async function openPostgresForCopy(url: string, use: 'source' | 'target'): Promise<CopyEngine> {
  const engine = openEngine(new PostgresHosts(url), migrating)
  try {
    await engine.run(checkVersion())
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
  readonly #hosts: PostgresHosts
  readonly #pool: pg.Pool
  readonly #names = new Map<string, string>()
  readonly #backends = new Set<number | undefined>()
  #connections = 0

  constructor(hosts: PostgresHosts, pool: pg.Pool) {
    this.#hosts = hosts
    // The pool replaces a lost connection on demand. Without a listener the event would crash the process.
    pool.on('error', () => undefined)
    pool.on('connect', client => {
      this.#connections += 1
      this.#backends.add(backendOf(client))
    })
    pool.on('remove', client => this.#backends.delete(backendOf(client)))
    this.#pool = pool
  }

  /** Whether a process of the database server serves this engine; behind a pooler that is unknown, and never so. */
  hasBackend(processId: number): boolean {
    return this.#backends.has(processId)
  }

  get connections(): number {
    return this.#connections
  }

  /** Several processes may always use it. */
  share(): void {}

  async own(): Promise<void> {}

  async read({ text, values }: Step): Promise<readonly Columns[]> {
    const config = { name: this.#nameOf(text), text, values: [...values], rowMode: 'array' as const }
    const client = await this.#connect()
    try {
      const { rows } = await client.query<unknown[]>(config)
      client.release()
      return rows
    } catch (error) {
      client.release(true)
      return rethrow(error)
    }
  }

  run<Result>(steps: Steps<Result>): Promise<Result> {
    return this.#run(steps)
  }

  runSlowly<Result>(steps: AsyncSteps<Result>): Promise<Result> {
    return this.#run(steps)
  }

  async #run<Result>(steps: Steps<Result> | AsyncSteps<Result>): Promise<Result> {
    const client = await this.#connect()
    try {
      let step = await steps.next()
      while (!step.done) step = await steps.next(await this.#rows(client, step.value))
      client.release()
      return step.value
    } catch (error) {
      await releaseClient(client, error)
      throw error
    }
  }

  async close(): Promise<void> {
    await this.#pool.end().catch(rethrow)
  }

  /** After a failed attempt the next one goes to another server, if there is one. */
  async #connect(): Promise<pg.PoolClient> {
    for (let left = this.#hosts.count - 1; ; left -= 1) {
      const { url } = this.#hosts
      try {
        return await this.#pool.connect()
      } catch (error) {
        if (left <= 0 || url === this.#hosts.url) return rethrow(error)
      }
    }
  }

  async #rows(client: pg.PoolClient, { text, values, isTransaction }: Step): Promise<readonly unknown[]> {
    const named = { name: this.#nameOf(text), text, values: [...values] }
    const commits = isTransaction || text === 'COMMIT'
    const { command, rows } = await client.query<object>(named).catch(commits ? rethrowCommit : rethrow)
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

/** The types of node-postgres lack it. */
const backendOf = (client: pg.PoolClient & { readonly processID?: number }): number | undefined =>
  client.processID

/** What a new connection may not meet: to a lost server, or to a primary that has become a standby. */
const OF_CONNECTION: ReadonlySet<StoreErrorCode> = new Set(['unavailable', 'uncertain', 'read_only'])

/** Ends the failed transaction, or the connection if it may still be busy or is broken. */
async function releaseClient(client: pg.PoolClient, error: unknown): Promise<void> {
  if (error instanceof StoreError && OF_CONNECTION.has(error.code)) {
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
  if (problem.code !== 'unavailable' || isRolledBack(error)) throw problem
  throw new StoreError('uncertain', 'The connection broke during a commit.', { cause: error })
}

function rethrow(error: unknown): never {
  throw toStoreError(error)
}

/** Server errors have a five-character SQLSTATE; all others are about the connection. */
function toStoreError(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const because = { cause: error }
  const code = error instanceof pg.DatabaseError ? (error.code ?? '') : ''
  if (code === '53100') return new StoreError('full', 'The disk of the database server is full.', because)
  if (code === '25006') return new StoreError('read_only', 'The database is read-only.', because)
  if (code === '55P03') return new StoreError('locked', 'Another process holds a lock for too long.', because)
  if (code === '' || isPassing(code)) {
    return new StoreError('unavailable', 'The database server does not respond.', because)
  }
  return new StoreError('unusable', `The database server refused the work (SQLSTATE ${code}).`, because)
}

/** The statement failed, not the connection: by a conflict, for lack of resources, or at its timeout. */
const isRolledBack = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && /^(40|53|57014)/.test(error.code ?? '')

/** Connection failures (08), conflicts (40), insufficient resources (53), and operator intervention or timeouts (57). */
const isPassing = (code: string): boolean => /^(08|40|53|57)/.test(code)
