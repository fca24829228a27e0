import { Command } from 'commander'
import { aboutCommands } from '#cli/agent/about-commands.ts'
import { authtokenCommand, configCommand, diagnoseCommand } from '#cli/agent/config-command.ts'
import { addAgentFlags, addTunnelFlags } from '#cli/agent/flags.ts'
import { flagsOf } from '#cli/agent/given-flags.ts'
import { serviceCommand } from '#cli/agent/service/command.ts'
import type { CommandSet } from '#cli/command-set.ts'
import type { TunnelKind } from '#tunnel/tunnel-option.ts'

interface TunnelCommand {
  readonly kind: TunnelKind
  readonly argument: string
  readonly doc: string
  readonly examples: readonly string[]
}

const tunnelCommands: readonly TunnelCommand[] = [
  {
    kind: 'http',
    argument: '<port|host:port|url>',
    doc: 'Start an HTTP tunnel to a local service.',
    examples: [
      'http 3000',
      'http 3000 --name shop',
      "http https://localhost:8443 --basic-auth 'me:secret'",
      'http file:///home/me/public',
    ],
  },
  {
    kind: 'tcp',
    argument: '<port|host:port>',
    doc: 'Start a TCP tunnel.',
    examples: ['tcp 22', 'tcp 22 --port 20022'],
  },
  {
    kind: 'tls',
    argument: '<port|host:port>',
    doc: 'Start a TLS tunnel; with --crt and --key, TLS is terminated by this agent.',
    examples: ['tls 8443 --name shop', 'tls 3000 --crt cert.pem --key key.pem'],
  },
  {
    kind: 'tunnel',
    argument: '<port|host:port|url>',
    doc: 'Start a labeled tunnel for a tunnel-group backend.',
    examples: ['tunnel 3000 --label service=shop'],
  },
]

const AFTER_HELP = `
Without --config the file is the one that "adit config path" prints; it need
not exist. In the folder where a gateway runs, no options are needed: its
address and its first credential are found there.

Exit codes: 0 stopped, 1 refused, 2 wrong usage, 4 sign-in rejected,
5 the address is taken, 78 wrong configuration, 130 interrupted.
`

const examplesText = (examples: readonly string[]): string =>
  `Examples:\n${examples.map(example => `  $ adit ${example}\n`).join('')}`

function tunnelCommand({ kind, argument, doc, examples }: TunnelCommand): Command {
  const command = new Command(kind).description(doc).argument(argument, 'Address of the service.')
  addAgentFlags(addTunnelFlags(command, kind), kind)
  command.showHelpAfterError(
    `(for example: adit ${examples[0] ?? kind}; adit ${kind} --help lists all options)`,
  )
  command.addHelpText('before', examplesText(examples)).addHelpText('after', AFTER_HELP)
  return command.action(async (target: string) => {
    const { openOne } = await import('#cli/agent/open.ts')
    process.exit(await openOne(kind, target, flagsOf(command)))
  })
}

function startCommand(): Command {
  const command = new Command('start')
    .description('Start tunnels of the configuration file.')
    .argument('[names...]', 'Their names.')
    .option('--all', 'Start all tunnels.')
    .option('--none', 'Start none: programs open them through the local API.')
  addAgentFlags(command)
  command
    .addHelpText('before', examplesText(['start shop', 'start --all --config adit.yml']))
    .addHelpText('after', AFTER_HELP)
  return command.action(async (names: string[]) => {
    const { openNamed } = await import('#cli/agent/open.ts')
    process.exit(await openNamed(names, flagsOf(command)))
  })
}

/** The agent commands. Their code is loaded when one of them runs. */
export const agentCommands: CommandSet = {
  ...Object.fromEntries(tunnelCommands.map(each => [each.kind, () => tunnelCommand(each)])),
  start: startCommand,
  config: configCommand,
  authtoken: authtokenCommand,
  diagnose: diagnoseCommand,
  service: serviceCommand,
  ...aboutCommands,
}
