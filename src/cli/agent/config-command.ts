import { Command } from 'commander'
import { addAgentFlags, flagsOf } from '#cli/agent/flags.ts'

const actions = () => import('#cli/agent/config-actions.ts')

/** `adit config`: the agent's file. */
export function configCommand(): Command {
  const config = new Command('config').description("Look at the agent's configuration file, and change it.")
  config
    .command('path')
    .description('Print where the file is.')
    .action(async () => (await actions()).printPath())
  config
    .command('check')
    .description('Say whether the file is fine, or what is wrong and where.')
    .argument('[file]', 'Another file.')
    .action(async (file: string | undefined) => (await actions()).check(file))
  const show = config
    .command('show')
    .description('Print every value that holds and where it was said, without secrets.')
    .option('--json', 'As JSON.')
  addAgentFlags(show).action(async () => (await actions()).show(flagsOf(show)))
  const add = config
    .command('add-authtoken')
    .description('Keep an authtoken in the file, readable only by you; the rest of the file stays as it is.')
    .argument('<token|->', 'The token; - reads it from standard input, where nobody else sees it.')
    .option('--config <file>', 'Another file.')
  add.action(async (token: string) => (await actions()).keepAuthtoken(token, flagsOf(add)))
  return config
}

/** `adit diagnose`: the way to the gateway, step by step. */
export function diagnoseCommand(): Command {
  const command = new Command('diagnose')
    .description('Find out where the way to the gateway is broken.')
    .option('--json', 'As JSON.')
    .addHelpText('after', '\nExit codes: 0 all is well, 1 something is broken.')
  return addAgentFlags(command).action(async () => {
    const { reportDiagnosis } = await import('#cli/agent/diagnose-report.ts')
    process.exitCode = await reportDiagnosis(flagsOf(command))
  })
}
