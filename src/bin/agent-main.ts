#!/usr/bin/env node
import { agentCommands } from '#cli/agent/commands.ts'
import { serverCommands } from '#cli/command-groups.ts'
import { trustCommand } from '#cli/trust.ts'
import { runProgram } from '#bin/program.ts'

const [command = ''] = process.argv.slice(2)

// The npm package `adit`: for a machine without a server.
if (serverCommands.includes(command)) {
  process.stderr.write(
    `adit: The npm package "adit" has only the agent. For "adit ${command}", install the package "adit-server" in its place.\n`,
  )
  process.exitCode = 2
} else {
  await runProgram({ ...agentCommands, trust: trustCommand })
}
