import type { Command } from 'commander'
import { readSettings } from '#base/read-settings.ts'
import type { Settings } from '#base/settings.ts'

export interface PlaceOptions {
  readonly config?: string
  readonly dataDir?: string
  readonly databaseUrl?: string
}

/** The settings that locate a server's data. */
export const withPlace = (command: Command): Command =>
  command
    .option('--config <file>', 'YAML file with settings, as of adit serve')
    .option('--data-dir <folder>', 'data folder (ADIT_DATA_DIR, default ./data)')
    .option('--database-url <url>', 'a PostgreSQL database instead of a file (ADIT_DATABASE_URL)')

export function placeFlags({ config, dataDir, databaseUrl }: PlaceOptions): Map<string, string> {
  const given = Object.entries({ config, data_dir: dataDir, database_url: databaseUrl })
  return new Map(given.filter((pair): pair is [string, string] => pair[1] !== undefined))
}

export const settled = (options: PlaceOptions): Settings => readSettings(placeFlags(options), process.env)
