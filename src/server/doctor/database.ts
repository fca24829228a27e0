import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { isThere } from '#base/is-there.ts'
import type { Settings } from '#base/settings.ts'
import { VERSION, versionProblem, type VersionRow } from '#store/postgres-version.ts'
import { ok, problem, reasonOf, type CheckResult } from '#server/doctor/finding.ts'

const WAIT_MS = 5000
const CHECK = 'database'

/** Whether the database can be read. Nothing is created or migrated. */
export const database = async ({ database_url: url, data_dir: folder }: Settings): Promise<CheckResult> =>
  url === undefined ? sqlite(join(folder, 'adit.db')) : postgres(url)

function sqlite(path: string): CheckResult {
  try {
    if (!isThere(path)) return ok(CHECK, `${path} is created at the first start`)
    using db = new DatabaseSync(path, { readOnly: true, timeout: WAIT_MS })
    const found = Object.values(db.prepare('PRAGMA quick_check(1)').get() ?? {})[0]
    return found === 'ok'
      ? ok(CHECK, `SQLite, ${path}`)
      : problem(CHECK, `${path} is damaged: ${String(found)}`, 'Restore a backup with "adit restore".')
  } catch (error) {
    return problem(
      CHECK,
      `${path} cannot be read (${reasonOf(error)})`,
      'Run this as the user of the server (for the systemd unit: sudo -u adit), or restore a backup.',
    )
  }
}

async function postgres(url: string): Promise<CheckResult> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: WAIT_MS,
    query_timeout: WAIT_MS,
  })
  // A connection that breaks afterwards must not end the program.
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<VersionRow>(VERSION)
    const { version = '' } = rows[0] ?? {}
    const wrong = versionProblem(version)
    return wrong === undefined
      ? ok(CHECK, `PostgreSQL ${version}`)
      : problem(CHECK, wrong, 'Upgrade PostgreSQL, or use another server.')
  } catch (error) {
    // The URL is not shown: it may contain a password.
    return problem(
      CHECK,
      `PostgreSQL cannot be reached (${reasonOf(error)})`,
      'Check ADIT_DATABASE_URL, that PostgreSQL runs, and that it accepts this machine and user.',
    )
  } finally {
    await client.end().catch(() => undefined)
  }
}
