import { startPostgres } from './postgres.ts'

/** Where a server of a test runs. */
interface Place {
  readonly settings: Readonly<Record<string, string>>
  leave(): Promise<void>
}

/**
 * The database and the number of gateway processes that TEST_DATABASE=postgres and TEST_WORKERS=2 choose for all servers
 * whose tests do not choose themselves.
 */
export async function chosenPlace(given: Readonly<Record<string, string>>): Promise<Place> {
  const workers = process.env['TEST_WORKERS'] ?? '1'
  const isPostgres = process.env['TEST_DATABASE'] === 'postgres' && given['database_url'] === undefined
  if (!isPostgres) return { settings: { workers }, leave: async () => undefined }
  const postgres = await startPostgres()
  return {
    settings: { workers, database_url: await postgres.newDatabase() },
    leave: () => postgres.stop(),
  }
}
