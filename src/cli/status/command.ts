import { Command, Option } from 'commander'
import { addConnectionOptions } from '#cli/connection-options.ts'
import type { StatusCommandOptions } from '#cli/status/action.ts'

const AFTER_HELP = `
Exit codes: 0 if everything works or only needs attention soon, 1 if something
fails. Others are as of "adit api".
`

/** `adit status`: the state of the server. */
export function statusCommand(): Command {
  const command = addConnectionOptions(
    new Command('status').description('Print the state of the server, and what needs attention.'),
  ).addOption(new Option('-o, --output <format>', 'Output format.').choices(['text', 'json']).default('text'))
  return command.addHelpText('after', AFTER_HELP).action(async () => {
    const { printStatus } = await import('#cli/status/action.ts')
    process.exitCode = await printStatus(command.opts<StatusCommandOptions>())
  })
}
