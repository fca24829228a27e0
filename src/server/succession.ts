import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { ownArguments } from '#base/own-program.ts'
import type { Running } from '#server/serve.ts'

/** Marks a process that was started to succeed another one. */
const VARIABLE = 'ADIT_SUCCEEDS'
/** The previous server continues until then, so waiting loses nothing. */
const READY_MS = 300_000

/** Messages from the parent process. */
type Order = 'reload' | 'share' | 'unshare' | 'released' | 'leave' | 'stop'

/** Why a server ends: for good, or because its successor is ready. */
export type End = 'stop' | 'leave'

/** The parent process, as seen from here. */
export interface Starter {
  /** Resolves when the previous server has released everything. */
  readonly released: Promise<void>
  /** Resolves when this server should end. */
  readonly ended: Promise<End>
  /** This server is ready. It is notified when it is replaced in turn. */
  ready(running: Pick<Running, 'share' | 'unshare'>): void
  /** This process is about to end. */
  leave(): void
}

/** Undefined in a process without a predecessor. */
export function findStarter(): Starter | undefined {
  const isSuccessor = process.env[VARIABLE] !== undefined && process.send !== undefined
  delete process.env[VARIABLE]
  if (!isSuccessor) return undefined
  const released = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<End>()
  let running: Pick<Running, 'share' | 'unshare'> | undefined
  process.on('message', (order: Order) => {
    if (order === 'released') released.resolve()
    // As if the signal had come to this process.
    else if (order === 'reload') process.emit('SIGHUP')
    else if (order === 'share') running?.share()
    else if (order === 'unshare') void running?.unshare()
    else ended.resolve(order)
  })
  // Without it there is no process that a service manager knows.
  process.once('disconnect', () => ended.resolve('stop'))
  return {
    released: released.promise,
    ended: ended.promise,
    ready(served) {
      running = served
      process.send?.('ready')
    },
    // An open channel would keep the process alive.
    leave: () => process.disconnect?.(),
  }
}

/** A successor in a separate process. */
export class Successor {
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
      env: { ...process.env, [VARIABLE]: '1' },
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

  send(order: Order): void {
    if (this.#child.connected) this.#child.send(order)
  }
}
