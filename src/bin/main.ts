import { agentCommands } from '#cli/agent/commands.ts'
import { trustCommand } from '#cli/trust.ts'
import { rotateCommand } from '#server/acme/rotate-command.ts'
import { backupCommand, restoreCommand } from '#server/backup/commands.ts'
import { serveCommand } from '#server/command.ts'
import { runProgram } from '#bin/program.ts'

/** The whole product: agent, server and API. */
export const main = (): Promise<void> =>
  runProgram([
    ...agentCommands(),
    serveCommand(),
    backupCommand(),
    restoreCommand(),
    rotateCommand(),
    trustCommand(),
  ])
