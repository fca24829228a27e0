import { query, type Steps } from '#store/engine.ts'
import { StoreError } from '#store/store-error.ts'

/** Tested with it and the later ones; earlier ones lack functions that clusters use. */
const OLDEST = 13

/** A statement, because PgBouncer has a version of its own in the startup messages. */
export const VERSION = `SELECT current_setting('server_version') AS version`

export interface VersionRow {
  readonly version: string
}

/** What is wrong with the version of the database server; undefined if nothing is. */
export const versionProblem = (version: string): string | undefined =>
  Number.parseInt(version, 10) < OLDEST
    ? `The database server is PostgreSQL ${version}, but Adit needs PostgreSQL ${OLDEST} or later.`
    : undefined

/** Rejects an old database server before anything is changed there. */
export function* checkVersion(): Steps<void> {
  const [row] = yield* query<VersionRow>(VERSION)
  const problem = versionProblem(row?.version ?? '')
  if (problem !== undefined) throw new StoreError('unusable', problem)
}
