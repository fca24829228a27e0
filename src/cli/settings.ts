import { Command, Option } from 'commander'
import { addConnectionOptions } from '#cli/connection-options.ts'
import type { ConnectionOptions } from '#cli/connection.ts'

interface SettingsOptions extends ConnectionOptions {
  readonly all?: true
  readonly output: 'text' | 'json'
}

/** `adit settings`: what a running server uses. */
export function settingsCommand(): Command {
  const command = addConnectionOptions(
    new Command('settings').description('Show the settings of the server, and where each comes from.'),
  )
    .option('--all', 'Also those that have their default.')
    .addOption(
      new Option('-o, --output <format>', 'Output format.').choices(['text', 'json']).default('text'),
    )
  return command.action(async () => {
    const [{ createClient }, { findConnection }, { printable, printableJson }] = await Promise.all([
      import('#client/client.ts'),
      import('#cli/connection.ts'),
      import('#cli/printable.ts'),
    ])
    const { all, output, ...connection } = command.opts<SettingsOptions>()
    const { url, token } = findConnection(connection, process.env)
    const { settings } = await createClient({ url, token: token.reveal() }).settings()
    const shown = settings.filter(
      ({ source }) => all || (source !== null && source !== 'default') || output === 'json',
    )
    const lines =
      shown.length === 0
        ? ['Every setting has its default; adit settings --all lists them.']
        : shown.map(
            ({ name, value, source, origin }) =>
              `${name}: ${value ?? ''}  (${origin ?? source ?? 'not set'})`,
          )
    process.stdout.write(
      output === 'json'
        ? `${printableJson(JSON.stringify(shown, undefined, 2))}\n`
        : lines.map(each => `${printable(each)}\n`).join(''),
    )
  })
}
