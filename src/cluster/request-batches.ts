import type { RequestWatcher } from '#contract/request-history.ts'

type ResourceBody = Record<string, unknown>

/** Requests that a worker reports to one watcher in the first process. */
export interface RequestBatch {
  readonly watch: number
  readonly requests: readonly ResourceBody[]
  readonly dropped: number
}

/** Collected while the first process takes the batch before. */
const MAX_WAITING = 500

/** Sends requests in batches, one at a time, so that a busy first process does not fill the memory of its workers. */
export class RequestBatches implements RequestWatcher {
  readonly #watch: number
  readonly #send: (batch: RequestBatch) => Promise<unknown>
  #requests: ResourceBody[] = []
  #dropped = 0
  #isSending = false

  constructor(watch: number, send: (batch: RequestBatch) => Promise<unknown>) {
    this.#watch = watch
    this.#send = send
  }

  seen(request: ResourceBody): void {
    if (this.#requests.length < MAX_WAITING) this.#requests.push(request)
    else this.#dropped++
    this.#flush()
  }

  dropped(count: number): void {
    this.#dropped += count
    this.#flush()
  }

  #flush(): void {
    if (this.#isSending || this.#requests.length + this.#dropped === 0) return
    this.#isSending = true
    const batch = { watch: this.#watch, requests: this.#requests, dropped: this.#dropped }
    this.#requests = []
    this.#dropped = 0
    const sent = (): void => {
      this.#isSending = false
      this.#flush()
    }
    // A channel that is closed takes no more batches, and the process ends.
    this.#send(batch).then(sent, () => undefined)
  }
}
