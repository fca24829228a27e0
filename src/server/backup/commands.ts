import { Command } from 'commander'
import { readSettings } from '#base/read-settings.ts'
import type { Settings } from '#base/settings.ts'

export interface PlaceOptions {
  readonly config?: string
  readonly dataDir?: string
  readonly databaseUrl?: string
}

/** `adit backup`: keeps everything in one file, while the server runs or not. */
export function backupCommand(): Command {
  return withPlace(new Command('backup'))
    .description('Back up the database and keys of a server into one file; it may be running.')
    .argument('<file>', 'the backup, a tar that must not exist yet')
    .action(async (file: string, options: PlaceOptions) => {
      const { backUp } = await import('#server/backup/backup.ts')
      const { files, missing } = backUp(settled(options), file)
      process.stdout.write(`${file} holds ${files.join(', ')}. Keep it safe: it opens everything.\n`)
      for (const each of missing) process.stderr.write(`adit: ${each}\n`)
    })
}

/** `adit restore`: puts a backup into an empty data folder. */
export function restoreCommand(): Command {
  return withPlace(new Command('restore'))
    .description('Put a backup into an empty data folder.')
    .argument('<file>', 'what adit backup has written')
    .action(async (file: string, options: PlaceOptions) => {
      const { restore } = await import('#server/backup/restore.ts')
      const settings = settled(options)
      const { manifest } = restore(settings, file)
      process.stdout.write(`${settings.data_dir} is as it was at ${manifest.created_at}. Start the server.\n`)
      if (manifest.database === 'postgresql')
        process.stderr.write('adit: the PostgreSQL database itself was not in it: use pg_restore for that\n')
    })
}

/** The settings that tell where a server keeps what it has. */
export const withPlace = (command: Command): Command =>
  command
    .option('--config <file>', 'YAML file with settings, as of adit serve')
    .option('--data-dir <folder>', 'data folder; ADIT_DATA_DIR, or ./data')
    .option('--database-url <url>', 'a PostgreSQL database that is used instead of a file; ADIT_DATABASE_URL')

export function settled({ config, dataDir, databaseUrl }: PlaceOptions): Settings {
  const given = Object.entries({ config, data_dir: dataDir, database_url: databaseUrl })
  return readSettings(
    new Map(given.filter((pair): pair is [string, string] => pair[1] !== undefined)),
    process.env,
  )
}
