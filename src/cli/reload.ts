import { Command } from 'commander'
import { addConnectionOptions } from '#cli/connection-options.ts'
import type { ConnectionOptions } from '#cli/connection.ts'

const listed = (title: string, names: readonly string[]): string =>
  names.length === 0 ? '' : `${title}: ${names.join(', ')}\n`

/** `adit reload`: makes the server read its settings again. */
export function reloadCommand(): Command {
  const command = addConnectionOptions(
    new Command('reload').description('Make the server read its settings again.'),
  )
  return command.action(async () => {
    const [{ createClient }, { findConnection }] = await Promise.all([
      import('#client/client.ts'),
      import('#cli/connection.ts'),
    ])
    const { url, token } = findConnection(command.opts<ConnectionOptions>(), process.env)
    const { changed, restart } = await createClient({ url, token: token.reveal() }).reload()
    const text = listed('changed', changed) + listed('needs a restart', restart)
    process.stdout.write(text === '' ? 'nothing has changed\n' : text)
  })
}
