import { Command, CommanderError } from 'commander'
import { ExitError } from '#base/exit-error.ts'
import { returnStartMemory } from '#base/start-memory.ts'
import { commandLine, spelledOut } from '#cli/agent/argv.ts'
import { completionCommand } from '#cli/completion.ts'
import { failureOf } from '#cli/failure.ts'
import { adoptHostedVariables, HOSTED_VERSION, hostedError, isHostedName } from '#cli/invoked-as.ts'
import metadata from '../../package.json' with { type: 'json' }

/** The program with the given commands and those that call the API. */
export async function programOf(commands: readonly Command[]): Promise<Command> {
  const program = base(commands)
  const { apiCommand } = await import('#cli/api-command.ts')
  const { requestsCommand } = await import('#cli/requests/command.ts')
  const { dashboardCommand } = await import('#cli/dashboard.ts')
  const { usageCommand } = await import('#cli/usage/command.ts')
  const { clusterCommand } = await import('#cli/cluster/command.ts')
  const { statusCommand } = await import('#cli/status/command.ts')
  const { reloadCommand } = await import('#cli/reload.ts')
  const { settingsCommand } = await import('#cli/settings.ts')
  for (const command of [
    apiCommand(),
    requestsCommand(),
    statusCommand(),
    settingsCommand(),
    reloadCommand(),
    usageCommand(),
    clusterCommand(),
    dashboardCommand(),
  ])
    program.addCommand(inheritExit(command))
  return program
}

/** Runs the command line of this process. */
export async function runProgram(commands: readonly Command[]): Promise<void> {
  adoptHostedVariables(process.env)
  returnStartMemory()
  await runLine(process.argv.slice(2), commands)
}

/** Runs the command that the words of a command line name, and sets the exit code. */
export async function runLine(words: readonly string[], commands: readonly Command[]): Promise<void> {
  // The API commands are derived from the whole contract, which takes longer than all others: only on demand.
  const line = commandLine(words)
  const [first = ''] = line.words
  const known = base(commands)
  const isKnown = known.commands.some(command => command.name() === first)
  const program = isKnown || ['--version', '-V'].includes(first) ? known : await programOf(commands)

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

function base(commands: readonly Command[]): Command {
  const program = new Command('adit')
    .description('Tunnels and ingress on a machine of your own.')
    .version(isHostedName ? `ngrok version ${HOSTED_VERSION}` : metadata.version)
    .exitOverride()
  for (const command of [...commands, completionCommand(() => programOf(commands))])
    program.addCommand(inheritExit(command))
  return program
}

function inheritExit(command: Command): Command {
  for (const inner of command.commands) inheritExit(inner)
  return command.exitOverride()
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
