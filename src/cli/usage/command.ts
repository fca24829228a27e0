import { Command, Option } from 'commander'
import { addConnectionOptions } from '#cli/connection-options.ts'
import type { UsageCommandOptions } from '#cli/usage/actions.ts'
import { usageDimensions, usageWindows } from '#contract/usage.ts'

/** `adit usage`: the busiest endpoints, credentials or API keys. */
export function usageCommand(): Command {
  const command = addConnectionOptions(
    new Command('usage').description('Show the busiest endpoints: requests, errors, response times, bytes.'),
  )
    .addOption(
      new Option('--by <what>', 'What is counted together.').choices(usageDimensions).default('endpoint'),
    )
    .addOption(
      new Option('--window <time>', 'The time up to now.').choices(Object.keys(usageWindows)).default('24h'),
    )
    .option('--limit <number>', 'The largest number of rows, at most 100.', '20')
    .addOption(
      new Option('-o, --output <format>', 'Output format.').choices(['text', 'json']).default('text'),
    )
    .addHelpText(
      'after',
      '\nExample:\n  $ adit usage --window 1h\n  $ adit usage --by credential --window 30d',
    )
  return command.action(async () =>
    (await import('#cli/usage/actions.ts')).show(command.opts<UsageCommandOptions>()),
  )
}
