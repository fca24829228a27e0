import { Command } from 'commander'
import { settingsOf, withDataOptions, type DataOptions } from '#base/data-options.ts'

/** `adit migrate`: moves an installation between SQLite and PostgreSQL. */
export function migrateCommand(): Command {
  return withDataOptions(new Command('migrate'))
    .description('Copy the database of a stopped server into an empty database of the other engine.')
    .requiredOption(
      '--to <database>',
      'postgres://user@host/name, or "sqlite" for adit.db in the data folder',
    )
    .action(async ({ to, ...options }: DataOptions & { readonly to: string }) => {
      const { migrate, SQLITE } = await import('#server/migrate/migrate.ts')
      const settings = settingsOf(options)
      const counts = await migrate(settings, to)
      const copied = [...counts].map(([table, count]) => `${count} ${table}`).join(', ')
      const next =
        to === SQLITE
          ? 'Remove database_url (ADIT_DATABASE_URL) from the settings'
          : 'Set database_url (ADIT_DATABASE_URL) to that URL'
      process.stdout.write(
        `Copied ${copied} rows.\n${next}, keep the data folder ${settings.data_dir}, and start the server.\n`,
      )
    })
}
