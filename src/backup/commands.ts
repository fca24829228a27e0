import { Command } from 'commander'
import { settingsOf, withDataOptions, type DataOptions } from '#base/data-options.ts'

/** `adit backup`: everything in one file, whether or not the server runs. */
export function backupCommand(): Command {
  return withDataOptions(new Command('backup'))
    .description('Back up the database and keys of a server into one file; it may be running.')
    .argument('<file>', 'the backup, a tar that must not exist yet')
    .action(async (file: string, options: DataOptions) => {
      const { backUp } = await import('#backup/backup.ts')
      const { files, missing } = backUp(settingsOf(options), file)
      process.stdout.write(`${file} contains ${files.join(', ')}. Keep it safe: it contains all secrets.\n`)
      for (const each of missing) process.stderr.write(`adit: ${each}\n`)
    })
}

/** `adit restore`: restores a backup into an empty data folder. */
export function restoreCommand(): Command {
  return withDataOptions(new Command('restore'))
    .description('Restore a backup into an empty data folder.')
    .argument('<file>', 'a file written by adit backup')
    .action(async (file: string, options: DataOptions) => {
      const { restore } = await import('#backup/restore.ts')
      const settings = settingsOf(options)
      const { manifest } = restore(settings, file)
      process.stdout.write(`${settings.data_dir} is restored to ${manifest.created_at}. Start the server.\n`)
      if (manifest.database === 'postgresql')
        process.stderr.write('adit: the PostgreSQL database itself is not included: use pg_restore\n')
    })
}
