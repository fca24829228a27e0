import { Command, CommanderError } from 'commander'
import { ExitError } from '#base/exit-error.ts'
import { failureOf } from '#cli/failure.ts'
import metadata from '../../package.json' with { type: 'json' }

/** Runs the command line of this process with the given commands and `adit api`. */
export async function runProgram(commands: readonly Command[]): Promise<void> {
  const program = new Command('adit')
    .description('Tunnels and ingress on a machine of your own.')
    .version(metadata.version)
    .exitOverride()
  for (const command of commands) program.addCommand(inheritExit(command))
  await addApi(program)

  // A reader of our output may stop early, as `head` does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? 0 : 1)
  })
  try {
    await program.parseAsync()
  } catch (error) {
    process.exitCode = report(error)
  }
}

function inheritExit(command: Command): Command {
  for (const inner of command.commands) inheritExit(inner)
  return command.exitOverride()
}

/** The commands of the API are derived from the whole contract, which takes longer than all others: only on demand. */
async function addApi(program: Command): Promise<void> {
  const [first = ''] = process.argv.slice(2)
  const isOther = program.commands.some(command => command.name() === first)
  if (isOther || first === '--version' || first === '-V') return
  const { apiCommand } = await import('#cli/api-command.ts')
  program.addCommand(apiCommand())
}

/** Prints one line that says what went wrong; returns the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const failure =
    failureOf(error) ??
    (error instanceof ExitError ? { text: error.message, exitCode: error.exitCode } : undefined)
  if (!failure) throw error
  process.stderr.write(`adit: ${failure.text}\n`)
  return failure.exitCode
}
