import { Command, CommanderError } from 'commander'
import { SettingError } from '#base/setting-values.ts'
import { agentCommands } from '#cli/agent/commands.ts'
import { failureOf } from '#cli/failure.ts'
import { trustCommand } from '#cli/trust.ts'
import { rotateCommand } from '#server/acme/rotate-command.ts'
import { BackupError } from '#server/backup/backup-error.ts'
import { backupCommand, restoreCommand } from '#server/backup/commands.ts'
import { serveCommand } from '#server/command.ts'
import { StartError } from '#server/start-error.ts'
import metadata from '../../package.json' with { type: 'json' }

const program = new Command('adit')
  .description('Tunnels and ingress on a machine of your own.')
  .version(metadata.version)
  .exitOverride()
for (const command of agentCommands()) program.addCommand(inherit(command))
program.addCommand(inherit(serveCommand()))
program.addCommand(inherit(backupCommand()))
program.addCommand(inherit(restoreCommand()))
program.addCommand(inherit(rotateCommand()))
program.addCommand(inherit(trustCommand()))
await addApi()

// Whoever reads our output may stop early, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 1)
})

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = report(error)
}

/** The commands of a command end as it does. */
function inherit(command: Command): Command {
  for (const inner of command.commands) inherit(inner)
  return command.exitOverride()
}

/** The API's commands are made from its whole contract, which takes longer than what the others do. */
async function addApi(): Promise<void> {
  const [first] = process.argv.slice(2)
  const isOther = program.commands.some(command => command.name() === first)
  if (isOther) return
  const { apiCommand } = await import('#cli/api-command.ts')
  program.addCommand(apiCommand())
}

/** Says in one line what went wrong; the code tells scripts which kind of thing it was. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const failure =
    error instanceof SettingError
      ? { text: error.message, exitCode: 2 }
      : error instanceof StartError || error instanceof BackupError
        ? { text: error.message, exitCode: 1 }
        : failureOf(error)
  if (!failure) throw error
  process.stderr.write(`adit: ${failure.text}\n`)
  return failure.exitCode
}
