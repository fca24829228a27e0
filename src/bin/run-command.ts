import { Command, CommanderError } from 'commander'
import { ExitError } from '#base/exit-error.ts'
import { spelledOut, type CommandLine } from '#cli/agent/argv.ts'
import { addGrouped } from '#cli/command-groups.ts'
import type { CommandSet } from '#cli/command-set.ts'
import { failureOf } from '#cli/failure.ts'
import { helpLayout } from '#cli/help-layout.ts'
import { HOSTED_VERSION, hostedError, isHostedName } from '#cli/invoked-as.ts'
import metadata from '../../package.json' with { type: 'json' }

/** The program with these commands and no others. */
export function programWith(commands: readonly Command[]): Command {
  const program = new Command('adit')
    .description('Self-hosted tunnels and ingress.')
    .version(isHostedName ? `ngrok version ${HOSTED_VERSION}` : metadata.version)
    .exitOverride()
    .configureHelp(helpLayout)
    .showHelpAfterError('(adit --help lists all commands)')
  addGrouped(program, commands.map(inherit))
  return program
}

/** Gives a command and those inside it the settings of the program. */
function inherit(command: Command): Command {
  for (const inner of command.commands) inherit(inner)
  return command.configureHelp({ ...command.configureHelp(), ...helpLayout }).exitOverride()
}

/** Whether the command of a line is among these, or it asks for the version. */
export const isKnown = ({ words: [first = ''] }: CommandLine, commands: CommandSet): boolean =>
  ['--version', '-V'].includes(first) || Object.hasOwn(commands, first)

/** The program for a line whose command is known, without the others. */
export function programFor({ words: [first = ''] }: CommandLine, { [first]: make }: CommandSet): Command {
  return programWith(make === undefined ? [] : [make()])
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
    checkTopic(program, line)
    await program.parseAsync(spelledOut(line, program), { from: 'user' })
  } catch (error) {
    process.exitCode = report(error)
  }
}

/** Without this, help for a command that does not exist prints the help of the program, with no reason. */
function checkTopic(program: Command, { words: [first, topic] }: CommandLine): void {
  if (first !== 'help' || topic === undefined || topic.startsWith('-')) return
  if (program.commands.some(each => each.name() === topic || each.aliases().includes(topic))) return
  program.error(`error: unknown command '${topic}'`, { exitCode: 2 })
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
