import { returnStartMemory } from '#base/start-memory.ts'
import { commandLine } from '#cli/agent/argv.ts'
import { agentCommands } from '#cli/agent/commands.ts'
import { adoptHostedVariables } from '#cli/invoked-as.ts'
import { isKnown, programFor, runCommand } from '#bin/run-command.ts'

/**
 * Runs the command line of this process if the command is the agent's; returns whether it is. A bundle of this alone is
 * small: the agent then loads nothing of the server and the API, not even their text.
 */
export async function runAgentLine(): Promise<boolean> {
  const line = commandLine(process.argv.slice(2))
  if (!isKnown(line, agentCommands)) return false
  adoptHostedVariables(process.env)
  returnStartMemory()
  await runCommand(programFor(line, agentCommands), line)
  return true
}
