import { Command, Option } from 'commander'
import { addAgentFlags } from '#cli/agent/flags.ts'
import { flagsOf } from '#cli/agent/given-flags.ts'
import type { CommandSet } from '#cli/command-set.ts'
import { HOSTED_VERSION, isHostedName } from '#cli/invoked-as.ts'
import metadata from '../../../package.json' with { type: 'json' }

const versionCommand = (): Command =>
  new Command('version')
    .description('Print the version.')
    .action(
      () =>
        void process.stdout.write(
          isHostedName ? `ngrok version ${HOSTED_VERSION}\n` : `adit version ${metadata.version}\n`,
        ),
    )

function updateCommand(): Command {
  const command = new Command('update')
    .description('Check for a newer version. Nothing is downloaded.')
    .addOption(new Option('--channel <name>').hideHelp())
  return addAgentFlags(command).action(async () => {
    const { reportUpdate } = await import('#cli/agent/update-report.ts')
    await reportUpdate(flagsOf(command))
  })
}

const creditsCommand = (): Command =>
  new Command('credits')
    .description('Print the licence.')
    .action(
      () =>
        void process.stdout.write(
          `Adit is published under the licence ${metadata.license}. The packages it is built with are listed in docs/decisions.md.\n`,
        ),
    )

/** Commands about the program itself. */
export const aboutCommands: CommandSet = {
  version: versionCommand,
  update: updateCommand,
  credits: creditsCommand,
}
