import { agentCommands } from '#cli/agent/commands.ts'
import type { CommandSet } from '#cli/command-set.ts'
import { readyCommand } from '#cli/ready.ts'
import { trustCommand } from '#cli/trust.ts'
import { rotateCommand } from '#domains/acme/rotate-command.ts'
import { backupCommand, restoreCommand } from '#backup/commands.ts'
import { doctorCommand } from '#server/doctor/command.ts'
import { migrateCommand } from '#server/migrate/command.ts'
import { serveCommand } from '#server/command.ts'
import { runProgram } from '#bin/program.ts'

/** The commands of the whole product: agent and server. */
export const allCommands: CommandSet = {
  ...agentCommands,
  serve: serveCommand,
  ready: readyCommand,
  backup: backupCommand,
  restore: restoreCommand,
  migrate: migrateCommand,
  doctor: doctorCommand,
  rotate: rotateCommand,
  trust: trustCommand,
}

export const main = (): Promise<void> => runProgram(allCommands)
