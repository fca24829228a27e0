#!/usr/bin/env node
import { agentCommands } from '#cli/agent/commands.ts'
import { trustCommand } from '#cli/trust.ts'
import { runProgram } from '#bin/program.ts'

// The npm package `adit`: for a machine without a server.
await runProgram({ ...agentCommands, trust: trustCommand })
