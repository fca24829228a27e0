import { execFile, execFileSync, spawn, type ChildProcess, type ExecFileOptions } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { until } from '../support/until.ts'
import { Folder } from '../support/folder.ts'

export const root = join(import.meta.dirname, '../..')

const COMMAND_MS = 600_000
const execute = promisify(execFile)
/** Runs a command to its end, and ends it when it takes too long: hooks have no deadline of their own. */
export const run = (
  program: string,
  args: readonly string[],
  options: ExecFileOptions = {},
): Promise<{ readonly stdout: string; readonly stderr: string }> =>
  execute(program, args, { timeout: COMMAND_MS, ...options, encoding: 'utf8' })

/** The Node that runs npm: the user's own, on which the agent's package must work. */
export const ownNode = process.env['npm_node_execpath'] ?? 'node'

/** A copy of this system that can be changed without a trace: an overlay over its root. */
export class SystemCopy implements Disposable {
  readonly #scratch = new Folder()
  readonly path = join(this.#scratch.path, 'root')

  constructor() {
    const upper = join(this.#scratch.path, 'upper')
    for (const folder of [this.path, upper]) mkdirSync(folder)
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', upper])
    for (const folder of ['changes', 'work']) mkdirSync(join(upper, folder))
    const options = `lowerdir=/,upperdir=${upper}/changes,workdir=${upper}/work`
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', options, this.path])
    execFileSync('mount', ['-t', 'proc', 'proc', join(this.path, 'proc')])
    execFileSync('mount', ['--bind', '/dev', join(this.path, 'dev')])
  }

  /** Runs a command in the copy. */
  async run(...command: string[]): Promise<string> {
    const { stdout } = await run('chroot', [this.path, ...command], { env: { PATH: process.env['PATH'] } })
    return stdout
  }

  [Symbol.dispose](): void {
    execFileSync('umount', ['-R', this.path])
    execFileSync('umount', [join(this.#scratch.path, 'upper')])
    this.#scratch[Symbol.dispose]()
  }
}

const PRINTS_MS = 60_000

/** A program that serves until the test is over, in a process group of its own. */
export class ServingProgram implements AsyncDisposable {
  readonly child: ChildProcess
  output = ''
  /** All that it wrote was read. */
  #isOver = false

  constructor(command: readonly string[], environment: Record<string, string> = {}) {
    const [program = '', ...args] = command
    this.child = spawn(program, args, {
      env: { PATH: process.env['PATH'], HOME: '/nonexistent', ...environment },
      detached: true,
    })
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text))
    this.child.once('close', () => (this.#isOver = true))
  }

  /** The first match in its output. */
  async prints(pattern: RegExp): Promise<RegExpExecArray> {
    const look = () => {
      const match = pattern.exec(this.output) ?? undefined
      if (match === undefined && this.#isOver)
        throw new Error(`it ended with ${this.child.exitCode}: ${this.output}`)
      return match
    }
    return until(look, { what: () => `${pattern} in:\n${this.output}`, withinMs: PRINTS_MS })
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode
    const exited = once(this.child, 'exit')
    this.child.kill(signal)
    await exited
    return this.child.exitCode
  }

  /**
   * Ends the whole process group: on a Node without process.execve, the launcher of the server's package
   * has a child, which would survive it and hold the pipes of this test open.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const closed = once(this.child, 'close')
    if (this.child.pid !== undefined) process.kill(-this.child.pid, 'SIGKILL')
    await closed
  }
}

/** A server on free ports, in a data folder. */
export const serverSettings = (dataDir: string): Record<string, string> => ({
  ADIT_DATA_DIR: dataDir,
  ADIT_ACME_DIRECTORY: 'off',
  ...Object.fromEntries(
    ['API', 'HTTP', 'HTTPS', 'AGENT', 'SSH'].map(name => [`ADIT_${name}_ADDR`, '127.0.0.1:0']),
  ),
})
