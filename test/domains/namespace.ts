import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'

const run = promisify(execFile)
let count = 0

/** A network of its own for programs of a test. What has an address there can be reached; nothing leaves it. */
export class Namespace implements AsyncDisposable {
  readonly #name = `adit${process.pid}n${count++}`
  readonly #children: ChildProcess[] = []
  /** The command that runs the command behind it in here. */
  readonly inside = ['ip', 'netns', 'exec', this.#name]

  constructor(addresses: readonly string[]) {
    execFileSync('ip', ['netns', 'add', this.#name])
    const ip = (...args: string[]) => execFileSync('ip', ['-n', this.#name, ...args])
    ip('link', 'set', 'lo', 'up')
    ip('link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'far0')
    for (const address of addresses) ip('addr', 'add', address, 'dev', 'eth0')
    // An interface is up only when its other end is.
    for (const end of ['eth0', 'far0']) ip('link', 'set', end, 'up')
  }

  /** Starts a program in here, that ends with this. */
  spawn(command: readonly string[], options: { readonly env?: NodeJS.ProcessEnv } = {}): ChildProcess {
    const [program = '', ...args] = [...this.inside, ...command]
    const child = spawn(program, args, { ...options, stdio: 'pipe' })
    this.#children.push(child)
    return child
  }

  /** What a command writes. */
  async output(command: readonly string[]): Promise<string> {
    const [program = '', ...args] = [...this.inside, ...command]
    const running = run(program, args)
    running.child.stdin?.end()
    return (await running).stdout
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children.filter(each => each.exitCode === null && each.signalCode === null)) {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    }
    execFileSync('ip', ['netns', 'del', this.#name])
  }
}
