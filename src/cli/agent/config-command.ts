import { Command, Option } from 'commander'
import { addAgentFlags } from '#cli/agent/flags.ts'
import { flagsOf } from '#cli/agent/given-flags.ts'

const actions = () => import('#cli/agent/config-actions.ts')

/** `adit config`: the agent's file. */
export function configCommand(): Command {
  const config = new Command('config').description("Show, check and change the agent's configuration file.")
  config
    .command('path')
    .description('Print the path of the file.')
    .action(async () => (await actions()).printPath())
  config
    .command('check')
    .description('Check the file and report errors with their position.')
    .argument('[file]', 'Another file.')
    .option('--config <file>', 'The same.')
    .action(async (file: string | undefined, { config: other }: { config?: string }) =>
      (await actions()).check(file ?? other),
    )
  const show = config
    .command('show')
    .description('Show the effective configuration and where each value comes from, without secrets.')
    .option('--json', 'As JSON.')
  addAgentFlags(show).action(async () => (await actions()).show(flagsOf(show)))
  const add = config
    .command('add-authtoken')
    .description('Store an authtoken in the file, readable only by you; the rest of the file is unchanged.')
    .argument('<token|->', 'The token; - reads it from standard input, where other users cannot see it.')
    .option('--config <file>', 'Another file.')
  add.action(async (token: string) => (await actions()).keepAuthtoken(token, flagsOf(add)))
  addLogFlags(add)
  addFileCommands(config)
  return config
}

/** Wrappers pass them with every command; there is nothing to log here. */
const addLogFlags = (command: Command): Command =>
  ['--log', '--log-format', '--log-level'].reduce(
    (all, flag) => all.addOption(new Option(`${flag} <value>`).hideHelp()),
    command,
  )

function addFileCommands(config: Command): void {
  const server = config
    .command('add-server-addr')
    .alias('add-connect-url')
    .description('Save the address of the gateway in the file.')
    .argument('<host:port>', 'The address.')
    .option('--config <file>', 'Another file.')
  server.action(async (address: string) => (await actions()).keepServer(address, flagsOf(server)))
  const edit = config
    .command('edit')
    .description('Open the file in VISUAL or EDITOR, then check it.')
    .option('--config <file>', 'Another file.')
  edit.action(async () => (await import('#cli/agent/config-files.ts')).edit(flagsOf(edit)))
  const upgrade = config
    .command('upgrade')
    .description('Print the version of the file; every version is supported.')
    .option('--config <file>', 'Another file.')
    .addOption(new Option('--relocate').hideHelp())
    .addOption(new Option('--dry-run').hideHelp())
  upgrade.action(async () => (await import('#cli/agent/config-files.ts')).upgrade(flagsOf(upgrade)))
  const bring = config
    .command('import')
    .description('Convert a file of the hosted agent, and list what has no equivalent.')
    .argument('[file]', 'The file; by default the one at its usual path.')
    .option('--config <file>', 'Where to write.')
    .option('--dry-run', 'Print the new file instead of writing it.')
  bring.action(async (file: string | undefined) =>
    (await import('#cli/agent/config-files.ts')).importHosted(file, flagsOf(bring)),
  )
  config
    .command('add-api-key', { hidden: true })
    .argument('<key>')
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async () => (await import('#cli/agent/config-files.ts')).rejectApiKey())
}

/** `adit authtoken`, as the second version of the hosted agent had it. */
export function authtokenCommand(): Command {
  const command = new Command('authtoken')
    .description('The same as "adit config add-authtoken".')
    .argument('<token|->', 'The token; - reads it from standard input.')
    .option('--config <file>', 'Another file.')
  addLogFlags(command)
  return command.action(async (token: string) => (await actions()).keepAuthtoken(token, flagsOf(command)))
}

/** `adit diagnose`: the connection to the gateway, step by step. */
export function diagnoseCommand(): Command {
  const command = new Command('diagnose')
    .description('Diagnose the connection to the gateway.')
    .option('--json', 'As JSON.')
    .addHelpText('after', '\nExit codes: 0 success, 1 failure.')
  return addAgentFlags(command).action(async () => {
    const { reportDiagnosis } = await import('#cli/agent/diagnose-report.ts')
    process.exitCode = await reportDiagnosis(flagsOf(command))
  })
}
