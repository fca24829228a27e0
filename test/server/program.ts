import assert from 'node:assert/strict'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { recordedOutputOf } from '../support/leaks.ts'
import { Caller, runAdit, spawnAdit, type Finished } from '../support/server.ts'
import { until } from '../support/until.ts'

/** Every listener on a port of its own, because other tests run at the same time. */
const freePorts = Object.fromEntries(
  ['API', 'HTTP', 'HTTPS', 'AGENT', 'SSH'].map(name => [`ADIT_${name}_ADDR`, '127.0.0.1:0']),
)

/** How long a process may take to start on a machine that does much else. */
const START_MS = 120_000

/** An `adit serve` process and its output. */
export class Program implements AsyncDisposable {
  readonly child: ChildProcess
  stdout = ''
  stderr = ''
  /** It has ended, and all that it wrote was read. */
  isOver = false

  constructor(environment: Record<string, string>, args: readonly string[] = []) {
    this.child = spawnAdit(['serve', ...args], { ...freePorts, ...environment })
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => (this.stdout += text))
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.stderr += text))
    this.child.once('close', () => (this.isOver = true))
  }

  /** Resolves when it has printed that it is running. */
  async started(): Promise<this> {
    const isRunning = () => {
      if (this.isOver) throw new Error(`adit serve ended: ${this.stderr}`)
      return /Ctrl-C|API +off/.test(this.stdout)
    }
    await until(isRunning, {
      what: () => `it runs, after:\n${this.stdout}${this.stderr}`,
      withinMs: START_MS,
    })
    return this
  }

  get #hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  /** The URL that it prints. */
  get url(): string {
    return /^ +API +(http\S+)$/m.exec(this.stdout)?.[1] ?? ''
  }

  /** The API key that it prints. */
  get key(): string | undefined {
    return /^ +API key +(\S+)$/m.exec(this.stdout)?.[1]
  }

  caller(token = this.key ?? ''): Caller {
    return new Caller(this.url, token)
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.#hasEnded) return this.child.exitCode
    const closed = once(this.child, 'close')
    this.child.kill(signal)
    await closed
    recordedOutputOf(this.child).end()
    return this.child.exitCode
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL')
  }
}

export const start = (environment: Record<string, string>, args?: readonly string[]): Promise<Program> =>
  new Program(environment, args).started()

/** Waits until it has logged this so many times, counted from the start. */
export async function logged(program: Program, text: string, times = 1): Promise<void> {
  const what = () => `${times} times ${text}, in:
${program.stderr}`
  const isLogged = () => {
    const count = program.stderr.split(text).length - 1
    if (count < times && program.isOver) assert.fail(`it ended before ${what()}`)
    return count >= times
  }
  await until(isLogged, { what, withinMs: START_MS })
}

/** Runs `adit serve`, which is expected to fail; otherwise it would listen on a free port. */
export const refused = (
  environment: Record<string, string>,
  args: readonly string[] = [],
): Promise<Finished> => runAdit(['serve', ...args], { ...freePorts, ...environment })

/** A port on which another program listens. */
export async function takePort(): Promise<{ readonly port: number } & AsyncDisposable> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close')
      server.close()
      await closed
    },
  }
}

/** Resolves when nothing listens on the port any more. */
export async function untilRefused(port: number): Promise<void> {
  await until(async () => {
    const socket = connect({ port, host: '127.0.0.1' })
    try {
      await once(socket, 'connect')
      return false
    } catch {
      return true
    } finally {
      socket.destroy()
    }
  })
}
