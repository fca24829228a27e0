import { TunnelError } from '#tunnel/frame.ts'

interface Waiting {
  readonly admit: () => void
  readonly refuse: (error: unknown) => void
}

/** Counts open streams, and lets openings wait in order above the limit. */
export class OpenQueue {
  readonly #maxOpen: number
  readonly #maxWaiting: number
  readonly #waiting = new Set<Waiting>()
  #open = 0
  #stopped: TunnelError | undefined

  constructor(maxOpen: number, maxWaiting: number) {
    this.#maxOpen = maxOpen
    this.#maxWaiting = maxWaiting
  }

  /** Takes a place, at once or when one is left. */
  async enter(signal?: AbortSignal): Promise<void> {
    if (this.#stopped !== undefined) throw this.#stopped
    signal?.throwIfAborted()
    if (this.#open < this.#maxOpen) {
      this.#open++
      return
    }
    if (this.#waiting.size >= this.#maxWaiting)
      throw new TunnelError('streams_exhausted', 'Too many streams wait to be opened.')
    await this.#wait(signal)
  }

  /** Gives a place back; the one who waits longest takes it over. */
  leave(): void {
    const [next] = this.#waiting
    if (next === undefined) {
      this.#open--
      return
    }
    this.#waiting.delete(next)
    next.admit()
  }

  stop(reason: TunnelError): void {
    this.#stopped ??= reason
    for (const waiting of this.#waiting) waiting.refuse(reason)
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const waiting: Waiting = { admit: resolve, refuse: reject }
    const giveUp = (): void => reject(signal?.reason)
    this.#waiting.add(waiting)
    signal?.addEventListener('abort', giveUp)
    try {
      await promise
    } finally {
      this.#waiting.delete(waiting)
      signal?.removeEventListener('abort', giveUp)
    }
  }
}
