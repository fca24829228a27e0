import type { WorkerCounts } from '#cluster/nodes/followed-cluster.ts'

/** The sums of what the workers of a node report. */
export class CountsOfWorkers {
  readonly #last = new Map<string, WorkerCounts>()
  /** Of workers that have ended. */
  readonly #ended = { connected: 0, failed: 0 }

  set(worker: string, counts: WorkerCounts): void {
    this.#last.set(worker, counts)
  }

  end(worker: string): void {
    const { connected = 0, failed = 0 } = this.#last.get(worker)?.forwards ?? {}
    this.#ended.connected += connected
    this.#ended.failed += failed
    this.#last.delete(worker)
  }

  get total(): WorkerCounts {
    const all = [...this.#last.values()]
    const sum = (value: (counts: WorkerCounts) => number): number =>
      all.reduce((total, each) => total + value(each), 0)
    return {
      clients: sum(({ clients }) => clients),
      links: sum(({ links }) => links),
      forwards: {
        connected: this.#ended.connected + sum(({ forwards }) => forwards.connected),
        failed: this.#ended.failed + sum(({ forwards }) => forwards.failed),
      },
    }
  }
}
