import { Command, CommanderError } from 'commander'
import { ExitError } from '#base/exit-error.ts'
import { spelledOut, type CommandLine } from '#cli/agent/argv.ts'
import { failureOf } from '#cli/failure.ts'
import { HOSTED_VERSION, hostedError, isHostedName } from '#cli/invoked-as.ts'
import metadata from '../../package.json' with { type: 'json' }

/** The program with these commands and no others. */
export function programWith(commands: readonly Command[]): Command {
  const program = new Command('adit')
    .description('Tunnels and ingress on a machine of your own.')
    .version(isHostedName ? `ngrok version ${HOSTED_VERSION}` : metadata.version)
    .exitOverride()
  for (const command of commands) program.addCommand(inheritExit(command))
  return program
}

export function inheritExit(command: Command): Command {
  for (const inner of command.commands) inheritExit(inner)
  return command.exitOverride()
}

/** Whether a program has the command of a line, or prints its version for it. */
export function isKnown({ words }: CommandLine, program: Command): boolean {
  const [first = ''] = words
  return ['--version', '-V'].includes(first) || program.commands.some(command => command.name() === first)
}

/** Runs the command that a line names, and sets the exit code. */
export async function runCommand(program: Command, line: CommandLine): Promise<void> {
  // A reader of our output may stop early, as `head` does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    // Output to a full disk is lost, but a server must not exit because of it.
    process.exitCode = 1
  })
  try {
    await program.parseAsync(spelledOut(line, program), { from: 'user' })
  } catch (error) {
    process.exitCode = report(error)
  }
}

/** Prints one line with the error; returns the exit code. */
function report(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  const failure =
    failureOf(error) ??
    (error instanceof ExitError ? { text: error.message, exitCode: error.exitCode } : undefined)
  if (!failure) throw error
  process.stderr.write(isHostedName ? `${hostedError(failure.text)}\n` : `adit: ${failure.text}\n`)
  return failure.exitCode
}
