import type { Command } from 'commander'
import { returnStartMemory } from '#base/start-memory.ts'
import { commandLine } from '#cli/agent/argv.ts'
import type { CommandSet } from '#cli/command-set.ts'
import { completionCommand } from '#cli/completion.ts'
import { adoptHostedVariables } from '#cli/invoked-as.ts'
import { isKnown, programFor, programWith, runCommand } from '#bin/run-command.ts'

/** The program with the given commands and those that call the API. */
export async function programOf(commands: CommandSet): Promise<Command> {
  const { apiCommand } = await import('#cli/api-command.ts')
  const { requestsCommand } = await import('#cli/requests/command.ts')
  const { dashboardCommand } = await import('#cli/dashboard.ts')
  const { usageCommand } = await import('#cli/usage/command.ts')
  const { clusterCommand } = await import('#cli/cluster/command.ts')
  const { statusCommand } = await import('#cli/status/command.ts')
  const { reloadCommand } = await import('#cli/reload.ts')
  const { settingsCommand } = await import('#cli/settings.ts')
  return programWith([
    ...Object.values(withCompletion(commands)).map(make => make()),
    apiCommand(),
    requestsCommand(),
    statusCommand(),
    settingsCommand(),
    reloadCommand(),
    usageCommand(),
    clusterCommand(),
    dashboardCommand(),
  ])
}

/** Runs the command line of this process. */
export async function runProgram(commands: CommandSet): Promise<void> {
  adoptHostedVariables(process.env)
  returnStartMemory()
  await runLine(process.argv.slice(2), commands)
}

/** Runs the command that the words of a command line name, and sets the exit code. */
export async function runLine(words: readonly string[], commands: CommandSet): Promise<void> {
  // The API commands are derived from the whole contract, which takes longer than all others: only on demand.
  const line = commandLine(words.length === 0 ? ['--help'] : words)
  const known = withCompletion(commands)
  await runCommand(isKnown(line, known) ? programFor(line, known) : await programOf(commands), line)
}

const withCompletion = (commands: CommandSet): CommandSet => ({
  ...commands,
  completion: () => completionCommand(() => programOf(commands)),
})
