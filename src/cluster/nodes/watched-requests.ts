import { setTimeout as wait } from 'node:timers/promises'
import { randomUUID } from 'node:crypto'
import type { Cluster } from '#cluster/nodes/cluster.ts'
import type { RequestHistory, RequestWatcher } from '#contract/request-history.ts'

type ResourceBody = Record<string, unknown>
type Filters = Readonly<Record<string, string>>

interface NextRequests {
  readonly watch: string
  readonly filters: Filters
}

interface SeenRequests {
  readonly requests: readonly ResourceBody[]
  readonly dropped: number
}

/** A call waits for requests for so long; a watch that is not polled is dropped after the other time. */
const HOLD_MS = 5000
const FORGET_MS = 30_000
const MAX_WAITING = 500
const RETRY_MS = 1000

/** One watch of another node. */
class Watched {
  #requests: ResourceBody[] = []
  #dropped = 0
  #arrived = Promise.withResolvers<void>()

  readonly watcher: RequestWatcher = {
    seen: request => {
      if (this.#requests.length < MAX_WAITING) this.#requests.push(request)
      else this.#dropped++
      this.#arrived.resolve()
    },
    dropped: count => {
      this.#dropped += count
      this.#arrived.resolve()
    },
  }

  async take(): Promise<SeenRequests> {
    const late = new AbortController()
    const held = wait(HOLD_MS, undefined, { ref: false, signal: late.signal }).catch(() => undefined)
    await Promise.race([this.#arrived.promise, held])
    late.abort()
    const seen = { requests: this.#requests, dropped: this.#dropped }
    this.#requests = []
    this.#dropped = 0
    this.#arrived = Promise.withResolvers()
    return seen
  }
}

/** The requests of this node that other nodes watch: they ask for the next ones again and again. */
export class WatchedRequests {
  readonly #own: Pick<RequestHistory, 'watch'>
  readonly #watches = new Map<string, { readonly watched: Watched; readonly timer: NodeJS.Timeout }>()

  constructor(own: Pick<RequestHistory, 'watch'>) {
    this.#own = own
  }

  async next({ watch, filters }: NextRequests): Promise<SeenRequests> {
    const known = this.#watches.get(watch) ?? this.#begin(watch, filters)
    known.timer.refresh()
    return known.watched.take()
  }

  #begin(watch: string, filters: Filters) {
    const watched = new Watched()
    const stop = this.#own.watch(filters, watched.watcher)
    const timer = setTimeout(() => {
      stop()
      this.#watches.delete(watch)
    }, FORGET_MS).unref()
    const begun = { watched, timer }
    this.#watches.set(watch, begun)
    return begun
  }
}

/** Watches the requests of the other nodes, of those too that join later. */
export class RemoteWatches {
  readonly #cluster: Cluster

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  watch(filters: Filters, watcher: RequestWatcher): () => void {
    const watch = randomUUID()
    const stop = new AbortController()
    const followed = new Set<string>()
    const begin = (): void => {
      for (const { id } of this.#cluster.membership.others) {
        if (followed.has(id)) continue
        followed.add(id)
        void this.#follow(id, { watch, filters }, watcher, stop.signal).then(() => followed.delete(id))
      }
    }
    begin()
    const unwatch = this.#cluster.membership.watch(begin)
    return () => {
      unwatch()
      stop.abort()
    }
  }

  /** Until the watch stops, or the node has gone. */
  async #follow(
    node: string,
    next: NextRequests,
    watcher: RequestWatcher,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted && this.#cluster.membership.others.some(({ id }) => id === node)) {
      try {
        const { requests, dropped } = await this.#cluster.peers.call<SeenRequests>(node, 'nextRequests', next)
        if (signal.aborted) return
        for (const request of requests) watcher.seen(request)
        if (dropped > 0) watcher.dropped(dropped)
      } catch {
        await wait(RETRY_MS, undefined, { ref: false })
      }
    }
  }
}
