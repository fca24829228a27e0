import { Command, Option } from 'commander'
import { addConnectionOptions } from '#cli/connection-options.ts'
import { filterOptions } from '#cli/filters.ts'
import type { ConnectionOptions } from '#cli/connection.ts'
import type { TailOptions } from '#cli/requests/actions.ts'
import { streams } from '#contract/streams.ts'

/** `adit requests`: what happens at the gateway. */
export function requestsCommand(): Command {
  const group = new Command('requests').description('Follow requests at the gateway, and explain one.')
  const tail = addConnectionOptions(
    group.command('tail').description('Print requests as they end, until it is interrupted.'),
  ).addOption(new Option('-o, --output <format>', 'Output format.').choices(['text', 'json']).default('text'))
  for (const option of filterOptions(streams.requests.filters)) tail.addOption(option)
  tail
    .addHelpText('after', '\nExample:\n  $ adit requests tail --host shop.example.com --failed any')
    .action(async () => (await import('#cli/requests/actions.ts')).tail(tail.opts<TailOptions>()))

  const why = addConnectionOptions(
    group
      .command('why')
      .description('Explain why a request got its response.')
      .argument('<id>', 'The header adit-request-id of the response, also shown on error pages.'),
  )
  why.action(async (id: string) =>
    (await import('#cli/requests/actions.ts')).why(id, why.opts<ConnectionOptions>()),
  )
  return group
}
