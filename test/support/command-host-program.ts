import { Writable } from 'node:stream'
import { allCommands } from '#bin/main.ts'
import { runLine } from '#bin/program.ts'
import type { Finished } from './server.ts'

// Runs the commands that test/support/command-host.ts sends, one after the other.

export interface Invocation {
  readonly args: readonly string[]
  readonly environment: NodeJS.ProcessEnv
}

/** Stands for a standard stream that is a pipe. */
class Written extends Writable {
  text = ''

  constructor() {
    super({ decodeStrings: false, defaultEncoding: 'utf8' })
  }

  override _write(piece: Buffer | string, _encoding: string, done: () => void): void {
    this.text += String(piece)
    done()
  }
}

async function run({ args, environment }: Invocation): Promise<Finished> {
  const [stdout, stderr] = [new Written(), new Written()]
  Object.defineProperty(process, 'stdout', { value: stdout, configurable: true })
  Object.defineProperty(process, 'stderr', { value: stderr, configurable: true })
  process.env = { ...environment }
  await runLine(args, allCommands)
  const code = Number(process.exitCode ?? 0)
  process.exitCode = undefined
  // Each command listens for it until its process ends.
  process.removeAllListeners('SIGINT')
  return { code, stdout: stdout.text, stderr: stderr.text }
}

process.on('message', async (invocation: Invocation) => process.send?.(await run(invocation)))
process.on('disconnect', () => process.exit())
