import type { GatewayParts } from '#cluster/gateway-handle.ts'
import { Channel, type Methods, type Notices } from '#cluster/channel.ts'
import { inTime } from '#base/in-time.ts'
import { RelayedPipe } from '#cluster/relayed-pipe.ts'
import type { WorkerHost } from '#cluster/worker-host.ts'

/** A worker that does not respond by then hangs. It serves until then, so waiting loses little. */
const TAKE_OVER_MS = 10_000

interface WorkerOptions extends Pick<GatewayParts, 'source' | 'log'> {
  readonly host: WorkerHost
  readonly methods: Methods
  readonly notices: Notices
}

/** A gateway process, as the first process sees it. */
export class Worker {
  readonly node: string
  readonly pipe: RelayedPipe
  readonly channel: Channel
  isReplaced = false
  readonly #options: WorkerOptions
  readonly #exited = Promise.withResolvers<void>()
  #hasExited = false
  #unwatch: (() => void) | undefined

  constructor(node: string, options: WorkerOptions) {
    this.node = node
    this.#options = options
    const { host, log, methods, notices } = options
    this.pipe = new RelayedPipe(body => host.send(node, body))
    const watch = async (kinds: readonly string[]): Promise<void> => this.watch(kinds)
    this.channel = new Channel(this.pipe, { log, methods: { ...methods, watch }, notices })
  }

  /** Sends it the records of these kinds, and their changes. */
  async watch(kinds: readonly string[]): Promise<void> {
    if (this.#hasExited) return
    this.#unwatch = await this.#options.source.watch(kinds, {
      snapshot: rows => this.channel.notify('snapshot', rows),
      changes: batch => this.channel.notify('changes', batch),
    })
  }

  /** Asks it what it must answer to be of use; undefined: it has exited. */
  async required<Result>(method: string, argument: unknown): Promise<Result | undefined> {
    const answer = await inTime(this.channel.request<Result>(method, argument), TAKE_OVER_MS)
    if (answer !== undefined) return answer
    this.#options.host.kill(this.node)
    await this.#exited.promise
    return undefined
  }

  /** Ends it once its connections are finished, or at the deadline. */
  async end(deadlineMs: number): Promise<void> {
    await this.channel.request('drain', deadlineMs).catch(() => undefined)
    this.#options.host.end(this.node)
    await this.#exited.promise
  }

  /** Its process has exited. */
  exited(): void {
    this.#hasExited = true
    this.#unwatch?.()
    this.pipe.close()
    this.#exited.resolve()
  }
}
