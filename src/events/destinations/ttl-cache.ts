import { unlessAborted } from '#base/egress/deadline.ts'

export interface Expiring<T> {
  readonly value: T
  /** In milliseconds since 1970. */
  readonly expires: number
}

// Margin for requests in flight and clock differences.
const MARGIN_MS = 120_000

/** Caches a value with an expiry until shortly before it, and fetches it once for all callers. */
export class TtlCache<T> {
  readonly #ask: () => Promise<Expiring<T>>
  readonly #now: () => number
  #kept: Expiring<T> | undefined
  #asking: Promise<Expiring<T>> | undefined

  constructor(ask: () => Promise<Expiring<T>>, now: () => number) {
    this.#ask = ask
    this.#now = now
  }

  async get(signal: AbortSignal): Promise<T> {
    if (this.#kept && this.#kept.expires - MARGIN_MS > this.#now()) return this.#kept.value
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined))
    this.#kept = await unlessAborted(signal, this.#asking)
    return this.#kept.value
  }

  forget(): void {
    this.#kept = undefined
  }
}
