import type { RetryOptions } from '#agent/options.ts'

const BASE_MS = 500
const CAP_MS = 30_000

/** Delay before the next attempt: full jitter, so that many agents do not reconnect at once. */
export class Backoff {
  readonly capMs: number
  readonly #baseMs: number
  readonly #random: () => number
  #failures = 0

  constructor({ baseMs, capMs, random }: RetryOptions = { baseMs: BASE_MS, capMs: CAP_MS }) {
    this.#baseMs = baseMs
    this.capMs = capMs
    this.#random = random ?? Math.random
  }

  next(): number {
    const ceiling = Math.min(this.capMs, this.#baseMs * 2 ** this.#failures)
    if (ceiling < this.capMs) this.#failures++
    return this.#random() * ceiling
  }

  reset(): void {
    this.#failures = 0
  }
}
