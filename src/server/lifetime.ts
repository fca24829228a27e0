import type { Log } from '#base/log.ts'
import { canSharePorts } from '#base/listen-on.ts'
import type { Running } from '#server/serve.ts'
import { Successor, type End, type Starter } from '#server/succession.ts'

const DAY_MS = 86_400_000
/** After SIGTERM what runs may take 30 seconds to finish; what is left then is closed, and this is for what hangs. */
const EXIT_MS = 34_000

export interface LifetimeOptions {
  readonly running: Running
  readonly starter: Starter | undefined
  readonly log: Log
  /** Called when this process stops serving. */
  readonly onEnd: () => void
}

/**
 * Serves until it is told to stop. SIGUSR2 starts a successor that serves on the same ports; the process that was started
 * first then stays as its parent, so that a service manager goes on to see one process, and passes on what it is told.
 */
export async function live(options: LifetimeOptions): Promise<number> {
  const { running, starter, log, onEnd } = options
  const stopped = stopSignal()
  // Waiting for a signal does not keep a process alive, and its listeners may all be off.
  const alive = setInterval(() => undefined, DAY_MS)
  // Only the first process is known outside, so only it is told to replace the server.
  const restarts = starter ? undefined : new Restarts(running, log)
  const end = await Promise.race([
    stopped,
    ...(starter ? [starter.ended] : []),
    ...(restarts ? [restarts.replaced] : []),
  ])
  clearInterval(alive)
  onEnd()
  const isReplaced = end === 'leave'
  if (!isReplaced) restarts?.stop()
  const late = setTimeout(() => process.exit(0), EXIT_MS)
  late.unref()
  await running.close({ successor: isReplaced })
  clearTimeout(late)
  if (!isReplaced || restarts === undefined) return 0
  return restarts.accompany(stopped)
}

/** The servers that succeed the first one, as its process sees them. */
class Restarts {
  /** Resolves when the first successor serves. */
  readonly replaced: Promise<End>
  readonly #running: Running
  readonly #log: Log
  readonly #replaced = Promise.withResolvers<End>()
  #current: Successor | undefined
  #released = false
  #starting = false

  constructor(running: Running, log: Log) {
    this.#running = running
    this.#log = log
    this.replaced = this.#replaced.promise
    process.on('SIGUSR2', () => void this.#restart())
  }

  /** This process ends: it is not replaced any more. */
  stop(): void {
    this.#starting = true
  }

  /** Stays beside the server until it ends, and resolves to its exit code. */
  async accompany(stopped: Promise<End>): Promise<number> {
    this.#released = true
    this.#current?.tell('released')
    void stopped.then(() => this.#current?.tell('stop'))
    for (;;) {
      const current = this.#current
      const code = (await current?.exited) ?? 1
      if (current === this.#current) return code
      // It was replaced, and has released everything.
      this.#current?.tell('released')
    }
  }

  async #restart(): Promise<void> {
    const before = this.#current
    if (this.#starting || (before === undefined) === this.#released) return
    if (!canSharePorts) {
      this.#log.warn(
        { platform: process.platform },
        'a server cannot be replaced on this platform: restart it',
      )
      return
    }
    this.#starting = true
    if (before === undefined) this.#running.share()
    else before.tell('share')
    try {
      this.#current = await Successor.start()
      this.#log.info({ process: this.#current.pid }, 'a new process serves')
      if (before) before.tell('leave')
      else this.#replaced.resolve('leave')
    } catch (error) {
      this.#log.error({ error }, 'the server was not replaced and goes on')
      if (before) before.tell('unshare')
      else await this.#running.unshare()
    } finally {
      this.#starting = false
    }
  }
}

const stopSignal = (): Promise<End> =>
  new Promise(resolve => {
    for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => resolve('stop'))
  })
