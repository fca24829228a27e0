import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import { notifyServiceManager } from '#base/service-manager.ts'
import { Restarts, type ServerOrder, type Replaceable } from '#server/restarts.ts'
import type { Running } from '#server/serve.ts'
import { Successor, type End, type Starter } from '#server/succession.ts'

const DAY_MS = 86_400_000
/** After SIGTERM requests may take 30 seconds to finish; the rest is closed then, and this is for what hangs. */
const EXIT_MS = 34_000

interface LifetimeOptions {
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
  const own = starter ? undefined : new OwnServer(running)
  const restarts = own && new Restarts({ first: own, start: () => Successor.start(), log })
  const end = await Promise.race([
    stopped,
    running.drainRequested.then(() => drainAsked(log)),
    ...(starter ? [starter.ended] : []),
    ...(own ? [own.replaced] : []),
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
  void stopped.then(() => restarts.send('stop'))
  process.removeAllListeners('SIGHUP').on('SIGHUP', () => restarts.send('reload'))
  own?.closed()
  return restarts.ended()
}

/** The server in this process, until its successor serves. */
class OwnServer implements Replaceable {
  readonly pid = process.pid
  readonly exited: Promise<number>
  /** Resolves when a successor serves. */
  readonly replaced: Promise<End>
  readonly #running: Running
  readonly #exited = Promise.withResolvers<number>()
  readonly #replaced = Promise.withResolvers<End>()

  constructor(running: Running) {
    this.#running = running
    this.exited = this.#exited.promise
    this.replaced = this.#replaced.promise
  }

  send(order: ServerOrder): Promise<void> | void {
    if (order === 'share') return this.#running.share()
    if (order === 'unshare') return this.#running.unshare()
    if (order === 'leave') this.#replaced.resolve('leave')
  }

  /** It has released everything. */
  closed(): void {
    this.#exited.resolve(0)
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

function drainAsked(log: Log): End {
  log.info('this node was asked to drain: it stops when its requests are finished')
  return 'stop'
}

const stopSignal = (): Promise<End> =>
  new Promise(resolve => {
    for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => resolve('stop'))
  })
