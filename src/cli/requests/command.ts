import { Command, InvalidArgumentError, Option } from 'commander'
import { addConnectionOptions } from '#cli/connection-options.ts'
import { filterOptions } from '#cli/filters.ts'
import type { ConnectionOptions } from '#cli/connection.ts'
import type { ReplayOptions, ShowOptions, TailOptions } from '#cli/requests/actions.ts'
import type { ReplayFailedOptions } from '#cli/requests/replay-failed.ts'
import { streams } from '#contract/streams.ts'

/** `adit requests`: what happens at the gateway. */
export function requestsCommand(): Command {
  const group = new Command('requests').description(
    'Follow requests at the gateway, explain, show or repeat one.',
  )
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
  addShow(group)
  addReplay(group)
  addReplayFailed(group)
  return group
}

const ID = 'The header adit-request-id of the response.'
const ENDPOINT = 'Send it to another endpoint.'
const TUNNEL = 'Send it straight to the agent of one tunnel.'

function addShow(group: Command): void {
  const show = addConnectionOptions(
    group
      .command('show')
      .description('Show the captured headers and bodies of a request.')
      .argument('<id>', ID),
  ).addOption(
    new Option('-o, --output <format>', 'Output format.')
      .choices(['text', 'har', 'curl', 'json'])
      .default('text'),
  )
  show
    .addHelpText('after', '\nCapture it first:\n  $ adit api captures create --host shop.example.com')
    .action(async (id: string) =>
      (await import('#cli/requests/actions.ts')).show(id, show.opts<ShowOptions>()),
    )
}

function addReplay(group: Command): void {
  const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]
  const replay = addConnectionOptions(
    group
      .command('replay')
      .description('Send a captured request again, and print the response.')
      .argument('<id>', ID),
  )
    .addOption(
      new Option(
        '--via <way>',
        'edge: through all modules (default). agent: straight to the backend.',
      ).choices(['edge', 'agent']),
    )
    .option('--endpoint <id>', ENDPOINT)
    .option('--tunnel <id>', TUNNEL)
    .option('--method <method>', 'Another method.')
    .option('--path <path>', 'Another path and query.')
    .option('--header <name: value>', 'Another value of a header; "Name:" removes it. Repeatable.', collect)
    .option('--body <text>', 'Another body.')
    .option('--resign', 'Sign a webhook again, with the secret of its route.')
    .addOption(
      new Option('-o, --output <format>', 'Output format.').choices(['text', 'json']).default('text'),
    )
  replay
    .addHelpText('after', "\nExample:\n  $ adit requests replay rq_... --header 'X-Debug: 1' --body '{}'")
    .action(async (id: string) =>
      (await import('#cli/requests/actions.ts')).replay(id, replay.opts<ReplayOptions>()),
    )
}

function addReplayFailed(group: Command): void {
  const replay = addConnectionOptions(
    group
      .command('replay-failed')
      .description('Send the failed requests that were captured again, oldest first.'),
  )
    .option('--endpoint <id>', ENDPOINT)
    .option('--tunnel <id>', TUNNEL)
    .addOption(
      new Option('--max <number>', 'Send the newest of them only.').default(50).argParser(wholeNumber),
    )
  // All of them have failed; what they have in common is left to choose.
  const { failed: _, ...filters } = streams.requests.filters
  for (const option of filterOptions(filters)) replay.addOption(option)
  replay
    .addHelpText('after', '\nExample:\n  $ adit requests replay-failed --host shop.example.com --path /hooks')
    .action(async () =>
      (await import('#cli/requests/replay-failed.ts')).replayFailed(replay.opts<ReplayFailedOptions>()),
    )
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 9999.')
  return Number(text)
}
