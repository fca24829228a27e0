import { spawn, type ChildProcess } from 'node:child_process'
import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import type { SupervisorReport, SupervisorRequest } from '#cluster/supervised-workers.ts'
import { WorkerProcesses } from '#cluster/worker-processes.ts'
import type { ServerOrder, Replaceable } from '#server/restarts.ts'
import { READY_MS, SUCCEEDS, SUPERVISED } from '#server/succession.ts'

/** A first process that ends this often cannot run: the service manager decides. */
const MAX_CRASHES = 5
const CRASHES_MS = 60_000
/** The first restart comes at once. */
const RESTART_MS = 1000
/** What workers get to finish their requests if the first process does not ask them to. */
const DRAIN_MS = { stop: 30_000, leave: 5000 }

interface SupervisedServerOptions {
  /** The arguments that start the first process. */
  readonly command: readonly string[]
  readonly log: Log
  readonly isSuccessor?: boolean
}

/** A first process and its workers. If the first process crashes, it is started again, and the workers keep serving. */
export class SupervisedServer implements Replaceable {
  readonly exited: Promise<number>
  readonly #options: SupervisedServerOptions
  readonly #exited = Promise.withResolvers<number>()
  readonly #workers = new WorkerProcesses()
  #child: ChildProcess | undefined
  /** Resolves when the current first process serves. */
  #ready = Promise.withResolvers<void>()
  #isReady = false
  #hasServed = false
  /** Another server uses the database: a first process that crashes is not started again meanwhile. */
  #isShared: boolean
  /** It has crashed meanwhile. */
  #isWaiting = false
  #end: 'stop' | 'leave' | undefined
  #isFinishing = false
  #crashes: number[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(options: SupervisedServerOptions) {
    this.#options = options
    this.#isShared = options.isSuccessor ?? false
    this.exited = this.#exited.promise
    this.#start()
  }

  /** Starts a server while its predecessor runs; rejects unless it serves in time. */
  static async succeed(options: SupervisedServerOptions): Promise<SupervisedServer> {
    const server = new SupervisedServer({ ...options, isSuccessor: true })
    const timer = setTimeout(() => server.#child?.kill('SIGKILL'), READY_MS)
    const failed = server.exited.then(code => {
      throw new Error(`The new process ended with code ${code} before it served.`)
    })
    try {
      await Promise.race([server.#ready.promise, failed])
    } finally {
      clearTimeout(timer)
    }
    return server
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  async send(order: ServerOrder): Promise<void> {
    if (order === 'share') {
      // One that is just starting would not share yet.
      await this.#ready.promise
      this.#isShared = true
    }
    if (order === 'unshare' || order === 'released') this.#isShared = false
    if (order === 'stop' || order === 'leave') this.#end = order
    if (this.#child === undefined) return this.#orderWithout(order)
    // It would serve before it obeys.
    if (order === 'stop' && !this.#hasServed) this.#child.kill('SIGTERM')
    else this.#post(order)
  }

  /** An order while there is no first process; the next one reads the settings anyway. */
  #orderWithout(order: ServerOrder): void {
    if (order === 'stop' || order === 'leave') this.#finish(0, DRAIN_MS[order])
    else if ((order === 'unshare' || order === 'released') && this.#isWaiting) this.#start()
  }

  #start(): void {
    const { command, isSuccessor = false } = this.#options
    const isBeside = isSuccessor && !this.#hasServed
    this.#isWaiting = false
    this.#isReady = false
    const child = spawn(process.execPath, command, {
      env: { ...process.env, [SUPERVISED]: this.#workers.folder, ...(isBeside && { [SUCCEEDS]: '1' }) },
      stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
    })
    this.#child = child
    child.on('message', message => this.#take(message as SupervisorRequest | 'ready'))
    // After its last message.
    child.once('close', (code, signal) => this.#closed(code, signal))
    // Without a process there is nothing to close.
    child.on('error', () => child.pid === undefined && this.#closed(1, null))
  }

  #take(message: SupervisorRequest | 'ready'): void {
    if (message === 'ready') {
      this.#isReady = true
      this.#hasServed = true
      return this.#ready.resolve()
    }
    switch (message.is) {
      case 'attach':
        return void inBackground({ task: 'workers', log: this.#options.log }, () => this.#attach())
      case 'start':
        return this.#workers.start(message.node, message.program)
      case 'send':
        return this.#workers.send(message.node, message.body)
      case 'end':
        return this.#workers.end(message.node)
      case 'kill':
        return this.#workers.kill(message.node)
    }
  }

  async #attach(): Promise<void> {
    const nodes = await this.#workers.attach({
      message: (node, body) => this.#post({ is: 'message', node, body }),
      exited: (node, code) => this.#post({ is: 'exited', node, code }),
    })
    this.#post({ is: 'attached', nodes })
  }

  #post(message: ServerOrder | SupervisorReport): void {
    if (this.#child?.connected === true) this.#child.send(message, () => undefined)
  }

  #closed(code: number | null, signal: NodeJS.Signals | null): void {
    this.#child = undefined
    this.#workers.detach()
    // One that did not serve when it was to stop could not fail at that.
    const exitCode = this.#end === 'stop' && (code === null || !this.#isReady) ? 0 : (code ?? 1)
    if (code === 0 || !this.#hasServed) return this.#finish(exitCode, 0)
    if (this.#end !== undefined) return this.#finish(exitCode, DRAIN_MS[this.#end])
    this.#crashed(code, signal)
  }

  #crashed(code: number | null, signal: NodeJS.Signals | null): void {
    const { log } = this.#options
    const now = performance.now()
    this.#ready = Promise.withResolvers()
    this.#crashes = [...this.#crashes.filter(at => at > now - CRASHES_MS), now]
    if (this.#crashes.length >= MAX_CRASHES) {
      log.error({ code, signal }, 'the first process exits again and again; the server ends')
      return this.#finish(code ?? 1, DRAIN_MS.stop)
    }
    log.error({ code, signal }, 'the first process exited; restarting it')
    this.#isWaiting = this.#isShared
    if (this.#isWaiting) return
    this.#timer = setTimeout(() => this.#start(), this.#crashes.length === 1 ? 0 : RESTART_MS)
  }

  #finish(code: number, drainMs: number): void {
    clearTimeout(this.#timer)
    if (this.#isFinishing) return
    this.#isFinishing = true
    void inBackground({ task: 'workers', log: this.#options.log }, async () => {
      await this.#workers.drain(drainMs)
      this.#workers[Symbol.dispose]()
    }).then(() => this.#exited.resolve(code))
  }
}
