import { closeSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { StoreError } from '#store/store-error.ts'

/** A server that starts or checkpoints may hold the file for a moment. */
const WAIT_MS = 10_000

/**
 * Writes a consistent copy of a database while others may write to it. It is not a copy of pages: deleted data is not
 * in it. `target` must not exist.
 */
export function copySqlite(source: string, target: string): void {
  // Created here rather than by SQLite, so that it is never readable by others.
  closeSync(openSync(target, 'wx', 0o600))
  using database = open(source)
  attempt(source, () => database.prepare('VACUUM INTO ?').run(target))
}

/** Reads all of a database, throws if it is damaged, and returns its metadata. */
export function checkSqlite(file: string): ReadonlyMap<string, string> {
  using database = open(file)
  return attempt(file, () => {
    const [found] = Object.values(database.prepare('PRAGMA integrity_check(1)').get() ?? {})
    if (found !== 'ok') throw new StoreError('unusable', `The database ${file} is damaged: ${String(found)}`)
    const rows = database.prepare('SELECT key, value FROM meta').all()
    return new Map(rows.map(({ key, value }) => [String(key), String(value)]))
  })
}

const open = (file: string): DatabaseSync => attempt(file, () => new DatabaseSync(file, { timeout: WAIT_MS }))

function attempt<Result>(file: string, work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof StoreError) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new StoreError('unusable', `The database ${file} cannot be read: ${reason}`, { cause: error })
  }
}
