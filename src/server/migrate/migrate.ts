import { existsSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { ExitError } from '#base/exit-error.ts'
import type { Settings } from '#base/settings.ts'
import { copyDatabase, type Counts } from '#store/copy-database.ts'
import type { CopyEngine } from '#store/engine.ts'
import { openPostgresForCopy } from '#store/postgres.ts'
import { openSqliteForCopy } from '#store/sqlite.ts'
import { StoreError } from '#store/store-error.ts'

/** Why a database could not be copied. The source is unchanged, and the target is empty. */
class MigrateError extends ExitError {
  override readonly name = 'MigrateError'
  readonly exitCode = 1
}

/** The database file of the data folder, as a target. */
export const SQLITE = 'sqlite'

/** Copies the database of an installation into an empty one of the other engine. */
export async function migrate(settings: Settings, to: string): Promise<Counts> {
  const { database_url: url, data_dir: folder } = settings
  const file = join(folder, 'adit.db')
  const toPostgres = /^postgres(ql)?:\/\//.test(to)
  if (!toPostgres && to !== SQLITE)
    throw new MigrateError('--to must be a URL that begins with postgres://, or "sqlite"')
  if (toPostgres === (url !== undefined)) throw new MigrateError(sameEngine(toPostgres))
  if (toPostgres && !existsSync(file))
    throw new MigrateError(`there is nothing to migrate: ${file} (ADIT_DATA_DIR) does not exist`)
  if (!toPostgres && existsSync(file)) throw new MigrateError(`${file} already exists: move it first`)
  try {
    return url === undefined ? await intoPostgres(file, to) : await intoSqlite(url, file)
  } catch (error) {
    if (error instanceof StoreError) throw new MigrateError(error.message, { cause: error })
    throw error
  }
}

const sameEngine = (isPostgres: boolean): string =>
  isPostgres
    ? 'the server already uses PostgreSQL (ADIT_DATABASE_URL); copy from one to another with pg_dump'
    : 'the server already uses SQLite; set the PostgreSQL source with --database-url'

async function intoPostgres(file: string, url: string): Promise<Counts> {
  await using source = closing(await openSqliteForCopy(file, 'source'))
  await using target = closing(await openPostgresForCopy(url, 'target'))
  return await copyDatabase(source.engine, target.engine)
}

/** The file gets its name only when it is complete. */
async function intoSqlite(url: string, file: string): Promise<Counts> {
  const partial = `${file}.partial`
  const parts = ['', '-wal', '-shm', '.lock'].map(suffix => partial + suffix)
  const clean = (): void => parts.forEach(path => rmSync(path, { force: true }))
  clean()
  try {
    const counts = await fill(url, partial)
    renameSync(partial, file)
    return counts
  } finally {
    clean()
  }
}

async function fill(url: string, partial: string): Promise<Counts> {
  await using source = closing(await openPostgresForCopy(url, 'source'))
  await using target = closing(await openSqliteForCopy(partial, 'target'))
  return await copyDatabase(source.engine, target.engine)
}

const closing = (engine: CopyEngine) => ({ engine, [Symbol.asyncDispose]: () => engine.close() })
