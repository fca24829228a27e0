import { Command } from 'commander'
import { flagsOf } from '#cli/agent/given-flags.ts'
import type { ServiceAction } from '#cli/agent/service/service.ts'

const actions = () => import('#cli/agent/service/actions.ts')

const docs: Readonly<Record<ServiceAction, string>> = {
  start: 'Start the service.',
  stop: 'Stop the service.',
  restart: 'Restart the service, with a changed file.',
  status: 'Show the service status and its last log lines.',
}

/** `adit service`: runs the agent under the system's service manager. */
export function serviceCommand(): Command {
  const service = new Command('service')
    .description('Run the tunnels of the configuration file as a system service.')
    .addHelpText('after', '\nsystemd on Linux; launchd on macOS and a task on Windows are untested.')
  const user = (command: Command): Command =>
    command.option('--user', 'For this user only; always the case without root.')
  const install = user(service.command('install'))
    .description('Install the service.')
    .option('--config <file>', 'Configuration file of the agent.')
  install.action(async () => (await actions()).install(flagsOf(install)))
  for (const action of ['start', 'stop', 'restart', 'status'] as const) {
    const command = user(service.command(action)).description(docs[action])
    command.action(async () => {
      process.exitCode = (await actions()).control(action, flagsOf(command))
    })
  }
  const uninstall = user(service.command('uninstall')).description('Stop and remove the service.')
  uninstall.action(async () => (await actions()).uninstall(flagsOf(uninstall)))
  return service
}
