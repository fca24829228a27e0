import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { recordOutput, recordedOutputOf } from '../support/leaks.ts'
import { program } from '../support/program.ts'
import type { Finished } from '../support/server.ts'

interface RunOptions {
  readonly environment?: Record<string, string>
  readonly input?: string
  /** What the program says before it is given the input; a terminal loses what is typed too early. */
  readonly prompt?: string
  readonly cwd?: string
}

/** They decide about colour on a terminal, so the test's own must not reach the program. */
const COLOUR_VARIABLES = new Set(['CI', 'FORCE_COLOR', 'NODE_DISABLE_COLORS', 'NO_COLOR'])

/** Runs a program to its end, with something to read on its standard input. */
export async function run(
  command: string,
  args: readonly string[],
  options: RunOptions = {},
): Promise<Finished> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('ADIT_') && !COLOUR_VARIABLES.has(name),
  )
  const child = spawn(command, args, {
    env: { ...Object.fromEntries(inherited), ...options.environment },
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  })
  if (command === program) recordOutput(child, args)
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  const { prompt = '', input = '' } = options
  if (prompt === '') child.stdin.end(input)
  child.stdout.on('data', () => {
    if (prompt !== '' && output.stdout.includes(prompt) && child.stdin.writable) child.stdin.end(input)
  })
  await once(child, 'close')
  if (command === program) recordedOutputOf(child).end()
  return { code: child.exitCode, ...output }
}

const TERMINAL = '/usr/bin/script'

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The same on a terminal, where `input` is typed; what the program writes comes back as one stream. */
export const runOnTerminal = (args: readonly string[], options: RunOptions = {}): Promise<Finished> =>
  run(TERMINAL, ['-qec', [program, ...args].map(quoted).join(' '), '/dev/null'], options)
