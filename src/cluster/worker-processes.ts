import { fork, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ownNodeOptions } from '#base/own-program.ts'
import type {
  HostMessage,
  WorkerHost,
  WorkerListener,
  WorkerMessage,
  WorkerProgram,
} from '#cluster/worker-host.ts'

/** A drained worker exits with its pipe; this is for one that hangs. */
const EXIT_MS = 2000

/** Workers as children of this process. They go on while no first process is attached. */
export class WorkerProcesses implements WorkerHost {
  readonly folder = mkdtempSync(join(tmpdir(), 'adit-'))
  readonly #children = new Map<string, ChildProcess>()
  #listener: WorkerListener | undefined
  #epoch = 0

  async attach(listener: WorkerListener): Promise<readonly string[]> {
    this.#listener = listener
    this.#epoch++
    for (const child of this.#children.values()) post(child, { is: 'attached', epoch: this.#epoch })
    return [...this.#children.keys()]
  }

  /** The first process has ended. */
  detach(): void {
    this.#listener = undefined
    for (const child of this.#children.values()) post(child, { is: 'lost' })
  }

  start(node: string, { path, args }: WorkerProgram): void {
    const child = fork(path, args, { serialization: 'advanced', execArgv: ownNodeOptions() })
    this.#children.set(node, child)
    child.on('message', message => this.#relay(node, child, message as WorkerMessage))
    child.once('exit', code => this.#exited(node, child, code))
    // Without a process there is no exit.
    child.on('error', () => child.pid === undefined && this.#exited(node, child, null))
    post(child, { is: 'attached', epoch: this.#epoch })
  }

  send(node: string, body: Uint8Array): void {
    const child = this.#children.get(node)
    if (child) post(child, { is: 'message', epoch: this.#epoch, body })
  }

  end(node: string): void {
    const child = this.#children.get(node)
    if (child === undefined) return
    if (child.connected) child.disconnect()
    killLater(child, EXIT_MS)
  }

  kill(node: string): void {
    this.#children.get(node)?.kill('SIGKILL')
  }

  /** Without a first process: all finish their requests, and exit. */
  async drain(deadlineMs: number): Promise<void> {
    const ended = [...this.#children.values()].map(async child => {
      const exited = new Promise(resolve => child.once('exit', resolve))
      post(child, { is: 'drain', deadlineMs })
      killLater(child, deadlineMs + EXIT_MS)
      await exited
    })
    await Promise.all(ended)
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }

  #relay(node: string, child: ChildProcess, { epoch, body }: WorkerMessage): void {
    // What a worker sent before its exit, or to an earlier first process, must not be executed.
    if (this.#children.get(node) === child && epoch === this.#epoch) this.#listener?.message(node, body)
  }

  #exited(node: string, child: ChildProcess, code: number | null): void {
    if (this.#children.get(node) !== child) return
    this.#children.delete(node)
    this.#listener?.exited(node, code)
  }
}

/** A broken pipe is noticed by the exit. */
const post = (child: ChildProcess, message: HostMessage): void => {
  if (child.connected) child.send(message, () => undefined)
}

function killLater(child: ChildProcess, ms: number): void {
  const timer = setTimeout(() => child.kill('SIGKILL'), ms)
  child.once('exit', () => clearTimeout(timer))
}
