import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import { canSharePorts } from '#base/listen-on.ts'
import { notifyServiceManager } from '#base/service-manager.ts'
import type { Running } from '#server/serve.ts'
import { Successor, type End, type Starter } from '#server/succession.ts'

const DAY_MS = 86_400_000
/** After SIGTERM requests may take 30 seconds to finish; the rest is closed then, and this is for what hangs. */
const EXIT_MS = 34_000

export interface LifetimeOptions {
  readonly running: Running
  readonly starter: Starter | undefined
  readonly log: Log
  /** Called when this process stops serving. */
  readonly onEnd: () => void
}

/**
 * Serves until it is stopped. SIGUSR2 starts a successor on the same ports; the first process then stays as its parent,
 * so that a service manager sees one process, and forwards signals.
 */
export async function live(options: LifetimeOptions): Promise<number> {
  const { running, starter, log, onEnd } = options
  const stopped = stopSignal()
  reloadOn('SIGHUP', running, log)
  // Waiting for a signal does not keep a process alive, and its listeners may all be off.
  const alive = setInterval(() => undefined, DAY_MS)
  // Only the first process is known outside, so only it gets the signal.
  const restarts = starter ? undefined : new Restarts(running, log)
  const end = await Promise.race([
    stopped,
    running.drainRequested.then((): End => 'stop'),
    ...(starter ? [starter.ended] : []),
    ...(restarts ? [restarts.replaced] : []),
  ])
  clearInterval(alive)
  onEnd()
  const isReplaced = end === 'leave'
  if (!isReplaced) restarts?.stop()
  const late = setTimeout(() => process.exit(0), EXIT_MS)
  late.unref()
  const stopping = isReplaced ? undefined : notifyServiceManager('stopping', log)
  await Promise.all([running.close({ successor: isReplaced }), stopping])
  clearTimeout(late)
  if (!isReplaced || restarts === undefined) return 0
  return restarts.accompany(stopped)
}

/** The successors of the first server, from its process. */
class Restarts {
  /** Resolves when the first successor serves. */
  readonly replaced: Promise<End>
  readonly #running: Running
  readonly #log: Log
  readonly #replaced = Promise.withResolvers<End>()
  #current: Successor | undefined
  /** A replacement is in progress: until the previous one has released everything, the next one has to wait. */
  #isBusy = false
  #isWanted = false

  constructor(running: Running, log: Log) {
    this.#running = running
    this.#log = log
    this.replaced = this.#replaced.promise
    process.on('SIGUSR2', () => this.#want())
  }

  /** This process is exiting: it is no longer replaced. */
  stop(): void {
    this.#isBusy = true
  }

  /** Stays until the server exits, and resolves to its exit code. */
  async accompany(stopped: Promise<End>): Promise<number> {
    void stopped.then(() => this.#current?.send('stop'))
    process.removeAllListeners('SIGHUP').on('SIGHUP', () => this.#current?.send('reload'))
    this.#complete()
    for (;;) {
      const current = this.#current
      const code = (await current?.exited) ?? 1
      if (current === this.#current) return code
    }
  }

  #want(): void {
    this.#isWanted = true
    if (this.#isBusy) return
    if (canSharePorts) this.#restartInBackground()
    else {
      const { platform } = process
      this.#log.warn({ platform }, 'a server cannot be replaced on this platform: restart it')
    }
  }

  #restartInBackground(): void {
    void inBackground({ task: 'restart', log: this.#log }, () => this.#restart())
  }

  /** The previous server has released everything. */
  #complete(): void {
    this.#current?.send('released')
    this.#isBusy = false
    if (this.#isWanted) this.#restartInBackground()
  }

  async #restart(): Promise<void> {
    this.#isBusy = true
    this.#isWanted = false
    const before = this.#current
    if (before) before.send('share')
    else this.#running.share()
    try {
      this.#current = await Successor.start()
    } catch (error) {
      this.#log.error({ error }, 'the server was not replaced and goes on')
      if (before) before.send('unshare')
      else await this.#running.unshare()
      this.#isBusy = false
      return
    }
    this.#log.info({ process: this.#current.pid }, 'a new process serves')
    if (before === undefined) return this.#replaced.resolve('leave')
    before.send('leave')
    await before.exited
    this.#complete()
  }
}

/** What is wrong with the settings is logged, and the server continues with those before. */
function reloadOn(signal: NodeJS.Signals, running: Pick<Running, 'reload'>, log: Log): void {
  process.on(signal, () => {
    const failed = 'the settings were not reloaded'
    void inBackground({ task: 'reload', log, failed }, async () => {
      await notifyServiceManager('reloading', log)
      try {
        await running.reload()
      } finally {
        await notifyServiceManager('ready', log)
      }
    })
  })
}

const stopSignal = (): Promise<End> =>
  new Promise(resolve => {
    for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => resolve('stop'))
  })
