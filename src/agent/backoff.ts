import type { RetryOptions } from '#agent/options.ts'
import { fullJitter } from '#base/backoff.ts'

const BASE_MS = 500
const CAP_MS = 30_000

/** Counts failed attempts, for the delay before the next one. */
export class Backoff {
  readonly capMs: number
  readonly #options: RetryOptions
  #failures = 0

  constructor(options: RetryOptions = { baseMs: BASE_MS, capMs: CAP_MS }) {
    this.#options = options
    this.capMs = options.capMs
  }

  next(): number {
    return fullJitter(this.#failures++, this.#options)
  }

  reset(): void {
    this.#failures = 0
  }
}
