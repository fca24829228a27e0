import { spawnSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { Folder } from '../support/folder.ts'
import { startPostgres } from '../support/postgres.ts'
import { runAdit } from '../support/server.ts'
import type { Figure } from './h2spec.ts'
import * as tools from './tools.ts'

const root = join(import.meta.dirname, '../..')

/** The last releases of packages of npm that contain PostgreSQL; their versions begin with that of PostgreSQL. */
const VERSIONS = [
  '13.23.0-beta.16',
  '14.23.0-beta.17',
  '15.18.0-beta.17',
  '16.14.0-beta.17',
  '17.10.0-beta.17',
  '18.4.0-beta.17',
]
const TOO_OLD = '12.22.0-beta.15'

/** What depends on PostgreSQL, its poolers and its replicas; `npm test` runs them with that of Debian. */
const TESTS = [
  'test/store',
  'test/cluster',
  'test/acme/two-servers.test.ts',
  'test/e2e/durability',
  'test/events/servers.test.ts',
  'test/events/two-servers.test.ts',
  'test/server/database-faults.test.ts',
  'test/server/health.test.ts',
  'test/server/migrate.test.ts',
  'test/server/usage/restart.test.ts',
]

/** Runs the tests with each version of PostgreSQL, or with those that are named, such as 16. */
export async function runPostgres(names: readonly string[]): Promise<Figure> {
  using folder = new Folder()
  chmodSync(folder.path, 0o755)
  const chosen = VERSIONS.filter(version => names.length === 0 || names.includes(version.split('.')[0] ?? ''))
  const results = chosen.map(version => testWith(version, tools.postgres(version, folder.file(version))))
  results.push(await refuses(TOO_OLD, tools.postgres(TOO_OLD, folder.file(TOO_OLD))))
  return { text: results.map(({ text }) => text).join('\n'), isGood: results.every(({ isGood }) => isGood) }
}

const nameOf = (version: string): string => `PostgreSQL ${version.split('.', 2).join('.')}`

function testWith(version: string, programs: string): Figure {
  const { status } = spawnSync(process.execPath, ['scripts/test/run.ts', ...TESTS], {
    cwd: root,
    env: { ...process.env, TEST_POSTGRES: programs },
    stdio: 'inherit',
  })
  return { text: `${nameOf(version)}: tests ${status === 0 ? 'passed' : 'failed'}`, isGood: status === 0 }
}

/** The program must not start with it. */
async function refuses(version: string, programs: string): Promise<Figure> {
  const server = await startPostgres([], programs)
  using folder = new Folder()
  try {
    const environment = { ADIT_DATA_DIR: folder.path, ADIT_DATABASE_URL: await server.newDatabase() }
    const { code, stderr } = await runAdit(['serve'], environment)
    const { stdout: examined } = await runAdit(['doctor'], environment)
    const reason = /PostgreSQL 12\.22, but Adit needs PostgreSQL 13 or later/
    const isGood = code === 1 && reason.test(stderr) && reason.test(examined)
    return { text: `${nameOf(version)}: exit code ${code}, ${stderr.trim()}`, isGood }
  } finally {
    await server.stop()
  }
}
