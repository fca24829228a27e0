import { startPostgres } from './postgres.ts'

/** The database and processes of a test server. */
interface ServerEnvironment {
  readonly settings: Readonly<Record<string, string>>
  release(): Promise<void>
}

/**
 * The database and the number of gateway processes that TEST_DATABASE=postgres and TEST_WORKERS=2 choose for all servers
 * whose tests do not choose themselves.
 */
export async function chosenEnvironment(given: Readonly<Record<string, string>>): Promise<ServerEnvironment> {
  const workers = process.env['TEST_WORKERS'] ?? '1'
  const isPostgres = process.env['TEST_DATABASE'] === 'postgres' && given['database_url'] === undefined
  if (!isPostgres) return { settings: { workers }, release: async () => undefined }
  const postgres = await startPostgres()
  return {
    settings: { workers, database_url: await postgres.newDatabase() },
    release: () => postgres.stop(),
  }
}
