import { Command } from 'commander'
import { openInBrowser } from '#cli/agent/keys.ts'
import { addConnectionOptions } from '#cli/connection-options.ts'
import { findConnection, type ConnectionOptions } from '#cli/connection.ts'
import { createClient } from '#client/client.ts'

interface DashboardCommandOptions extends ConnectionOptions {
  readonly open: boolean
}

/** `adit dashboard`: signs the holder of an admin's API key in to the dashboard. */
export function dashboardCommand(): Command {
  const command = addConnectionOptions(
    new Command('dashboard').description(
      'Print a link that signs you in to the dashboard, once and within 15 minutes, and open it in the browser.',
    ),
  ).option('--no-open', 'Only print the link.')
  return command.action(() => openDashboard(command.opts<DashboardCommandOptions>()))
}

async function openDashboard(options: DashboardCommandOptions): Promise<void> {
  const { url, token } = findConnection(options, process.env)
  const link = await createClient({ url, token: token.reveal() }).dashboard.link()
  process.stdout.write(`${link.url}\n`)
  if (!options.open) return
  // The link is printed: without a browser, the user opens it elsewhere. The reason must not repeat its token.
  openInBrowser(link.url, () =>
    process.stderr.write('adit: No browser was found here; open the link yourself.\n'),
  )
}
