import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { ownArguments } from '#base/own-program.ts'
import { SupervisedWorkers } from '#cluster/supervised-workers.ts'
import type { WorkerHost } from '#cluster/worker-host.ts'
import type { ServerOrder, Replaceable } from '#server/restarts.ts'
import type { Running, Succession } from '#server/serve.ts'

/** Marks a process that was started to succeed another one. */
export const SUCCEEDS = 'ADIT_SUCCEEDS'
/** Marks a process with a supervisor; its value is the folder for the sockets. */
export const SUPERVISED = 'ADIT_SUPERVISED'
/** The previous server continues until then, so waiting loses nothing. */
export const READY_MS = 300_000

/** Why a server ends: for good, or because its successor is ready. */
export type End = 'stop' | 'leave'

/** The parent process, as seen from here. */
export interface Starter {
  /** Undefined: there is no previous server. */
  readonly succession: Succession | undefined
  /** Undefined: the parent process is not a supervisor. */
  readonly workerHost: WorkerHost | undefined
  /** Resolves when this server should end. */
  readonly ended: Promise<End>
  /** This server is ready. It is notified when it is replaced in turn. */
  ready(running: Pick<Running, 'share' | 'unshare'>): void
  /** This process is about to end. */
  leave(): void
}

/** Undefined in a process that no other one has started. */
export function findStarter(): Starter | undefined {
  const { [SUCCEEDS]: succeeds, [SUPERVISED]: folder } = process.env
  delete process.env[SUCCEEDS]
  delete process.env[SUPERVISED]
  if (process.send === undefined || (succeeds ?? folder) === undefined) return undefined
  const released = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<End>()
  let running: Pick<Running, 'share' | 'unshare'> | undefined
  process.on('message', (order: ServerOrder | object) => {
    // A report about workers.
    if (typeof order === 'object') return
    if (order === 'released') released.resolve()
    // As if the signal had come to this process.
    else if (order === 'reload') process.emit('SIGHUP')
    else if (order === 'share') running?.share()
    else if (order === 'unshare') void running?.unshare()
    else ended.resolve(order)
  })
  let isLeaving = false
  process.once('disconnect', () => {
    // Without the parent there is no process that a service manager knows, and the workers of a supervisor exit too.
    if (folder === undefined || isLeaving) ended.resolve('stop')
    else process.exit(1)
  })
  return {
    succession: succeeds === undefined ? undefined : { released: released.promise },
    workerHost: folder === undefined ? undefined : new SupervisedWorkers(folder),
    ended: ended.promise,
    ready(served) {
      running = served
      process.send?.('ready')
    },
    // An open channel would keep the process alive.
    leave() {
      isLeaving = true
      process.disconnect?.()
    },
  }
}

/** A successor in a separate process. */
export class Successor implements Replaceable {
  /** Resolves to the exit code. */
  readonly exited: Promise<number>
  readonly #child: ChildProcess

  private constructor(child: ChildProcess) {
    this.#child = child
    this.exited = once(child, 'exit').then(([code]: (number | null)[]) => code ?? 1)
  }

  /** Starts the same program with the same arguments; rejects unless it is ready in time. */
  static async start(): Promise<Successor> {
    const child = spawn(process.execPath, ownArguments(), {
      env: { ...process.env, [SUCCEEDS]: '1' },
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    })
    const successor = new Successor(child)
    const timer = setTimeout(() => child.kill('SIGKILL'), READY_MS)
    const failed = successor.exited.then(code => {
      throw new Error(`The new process ended with code ${code} before it served.`)
    })
    try {
      await Promise.race([once(child, 'message'), failed])
    } finally {
      clearTimeout(timer)
    }
    return successor
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  send(order: ServerOrder): void {
    if (this.#child.connected) this.#child.send(order)
  }
}
