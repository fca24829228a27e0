import type { Command } from 'commander'
import { readSettings } from '#base/read-settings.ts'
import type { Settings } from '#base/settings.ts'

export interface DataOptions {
  readonly config?: string
  readonly dataDir?: string
  readonly databaseUrl?: string
}

/** The settings that locate a server's data. */
export const withDataOptions = (command: Command): Command =>
  command
    .option('--config <file>', 'YAML file with settings, as of adit serve')
    .option('--data-dir <folder>', 'data folder (ADIT_DATA_DIR, default ./data)')
    .option('--database-url <url>', 'a PostgreSQL database instead of a file (ADIT_DATABASE_URL)')

export function dataFlags({ config, dataDir, databaseUrl }: DataOptions): Map<string, string> {
  const given = Object.entries({ config, data_dir: dataDir, database_url: databaseUrl })
  return new Map(given.filter((pair): pair is [string, string] => pair[1] !== undefined))
}

export const settingsOf = (options: DataOptions): Settings => readSettings(dataFlags(options), process.env)
