import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { availableParallelism } from 'node:os'
import { setTimeout } from 'node:timers/promises'

const PATIENCE_MS = 15_000
const TICKS_PER_SECOND = 100

/** Splits a line into arguments at blanks. */
export const splitArguments = (line: string): string[] => line.trim().split(/\s+/)

async function answers(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** An external program, until it is disposed of. */
export class RunningProgram implements AsyncDisposable {
  readonly child: ChildProcess
  readonly pid: number
  #output = ''

  constructor(program: string, args: readonly string[], environment: Record<string, string> = {}) {
    this.child = spawn(program, args, {
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.pid = this.child.pid ?? -1
    const keep = (text: string) => (this.#output = (this.#output + text).slice(-16_384))
    this.child.stdout?.setEncoding('utf8').on('data', keep)
    this.child.stderr?.setEncoding('utf8').on('data', keep)
    this.child.once('error', error => keep(String(error)))
  }

  /** The last of what it has said. */
  get output(): string {
    return this.#output
  }

  /** Resolves when a condition holds; an earlier exit of the program is an error. */
  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    for (const end = Date.now() + PATIENCE_MS; !(await isSo()); await setTimeout(50)) {
      const gone = this.pid === -1 || this.child.exitCode !== null
      if (gone || Date.now() > end)
        throw new Error(`${this.child.spawnfile}: ${what} did not come about. It said: ${this.#output}`)
    }
  }

  listens(port: number): Promise<void> {
    return this.until(`listening on ${port}`, () => answers(port))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.pid === -1 || this.child.exitCode !== null || this.child.signalCode !== null) return
    const closed = once(this.child, 'close')
    this.child.kill('SIGTERM')
    const timer = AbortSignal.timeout(PATIENCE_MS)
    timer.addEventListener('abort', () => this.child.kill('SIGKILL'))
    await closed
  }
}

/** Runs a program to its end and returns its output. */
export async function outputOf(
  program: string,
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<string> {
  const env = { ...process.env, ...options.env }
  const child = spawn(program, args, { ...options, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  const keep = (text: string) => (output += text)
  child.stdout.setEncoding('utf8').on('data', keep)
  child.stderr.setEncoding('utf8').on('data', keep)
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${program} ended with ${code}: ${output.slice(-2000)}`)
  return output
}

/** A process and its descendants. */
function family(pid: number): number[] {
  const lists = globSync(`/proc/${pid}/task/*/children`).map(file => readFileSync(file, 'utf8'))
  const children = lists.join(' ').split(/\s+/).filter(Boolean).map(Number)
  return [pid, ...children.flatMap(family)]
}

/** Ends all descendants of this process. */
export function endDescendants(): void {
  for (const pid of family(process.pid).slice(1))
    try {
      process.kill(pid)
    } catch {
      // It has ended meanwhile.
    }
}

/** The CPU time of processes and their descendants so far, in seconds. */
export function cpuSeconds(pids: readonly number[]): number {
  const ticks = pids.flatMap(family).map(pid => {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return Number(fields[11]) + Number(fields[12])
  })
  return ticks.reduce((sum, each) => sum + each, 0) / TICKS_PER_SECOND
}

/**
 * The time that the host took from each processor so far, in seconds: there was work, but it ran something else. It is
 * the eighth time of the first line ("steal").
 */
export function stolenSeconds(): number {
  const [, ...ticks] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/ +/) ?? []
  return Number(ticks[7]) / TICKS_PER_SECOND / availableParallelism()
}

/** The memory of processes and their descendants, in bytes. */
export const residentOfAll = (pids: readonly number[]): number =>
  pids.flatMap(family).reduce((sum, pid) => sum + residentBytes(pid), 0)

/** The memory that only this process uses, in bytes: without the pages of its program that others have too. */
export function privateBytes(pid: number): number {
  const parts = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').matchAll(/^Private_\w+:\s+(\d+) kB/gm)
  return [...parts].reduce((sum, [, kibibytes]) => sum + Number(kibibytes) * 1024, 0)
}

/** The memory of one process, in bytes. */
export function residentBytes(pid: number): number {
  const kibibytes = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kibibytes) * 1024
}
