import type { RequestBatch } from '#cluster/request-batches.ts'
import type { RequestWatcher } from '#contract/request-history.ts'

export interface RequestWatch {
  readonly watch: number
  readonly filters: Readonly<Record<string, string>>
}

/** The watchers of requests in the first process, by the numbers that workers know them by. */
export class RequestWatches {
  readonly #watches = new Map<
    number,
    { readonly watcher: RequestWatcher; readonly filters: RequestWatch['filters'] }
  >()
  readonly #broadcast: (name: 'watchRequests' | 'unwatchRequests', argument: unknown) => void
  #next = 1

  /** `broadcast` notifies every worker. */
  constructor(broadcast: (name: 'watchRequests' | 'unwatchRequests', argument: unknown) => void) {
    this.#broadcast = broadcast
  }

  /** For a worker that starts. */
  get all(): RequestWatch[] {
    return [...this.#watches].map(([watch, { filters }]) => ({ watch, filters }))
  }

  add(filters: RequestWatch['filters'], watcher: RequestWatcher): () => void {
    const watch = this.#next++
    this.#watches.set(watch, { watcher, filters })
    this.#broadcast('watchRequests', { watch, filters })
    return () => {
      this.#watches.delete(watch)
      this.#broadcast('unwatchRequests', watch)
    }
  }

  take({ watch, requests, dropped }: RequestBatch): void {
    const watcher = this.#watches.get(watch)?.watcher
    for (const request of requests) watcher?.seen(request)
    if (dropped > 0) watcher?.dropped(dropped)
  }
}
