import type { AcmeHandle } from '#domains/acme.ts'
import type { ExpiryHandle } from '#domains/expiry/expiry-watch.ts'
import { type PeriodicPruning, startPruning } from '#server/prune.ts'

interface MaintenanceOptions {
  readonly acme: AcmeHandle
  readonly expiry: ExpiryHandle
  readonly pruned: PeriodicPruning
}

/** Background work that only one process may do at a time: a successor starts it when its predecessor has ended. */
export class Maintenance {
  readonly #options: MaintenanceOptions
  #starting: Promise<unknown> = Promise.resolve()
  #stopPruning: (() => void) | undefined
  #isClosing = false

  constructor(options: MaintenanceOptions) {
    this.#options = options
  }

  /** `base` is the API URL in events. */
  async start(base: string): Promise<void> {
    if (this.#isClosing) return
    const { acme, expiry, pruned } = this.#options
    this.#stopPruning = startPruning(pruned)
    this.#starting = Promise.all([acme.start(base), expiry.start(base)])
    await this.#starting
  }

  async close(): Promise<void> {
    this.#isClosing = true
    // Only what has started can be stopped; a failure was reported to the caller of `start`.
    await this.#starting.catch(() => undefined)
    this.#stopPruning?.()
    const { acme, expiry } = this.#options
    await Promise.all([acme.close(), expiry.close()])
  }
}
