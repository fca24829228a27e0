import { fail } from '#base/errors.ts'

const WINDOW_MS = 60_000
/** Maximum tracked keys, as an LRU. */
const MAX_KEYS = 10_000

/** The times of a key's latest requests, as a ring. */
interface Calls {
  readonly moments: Float64Array
  next: number
}

/** At most `limit` requests in any 60 seconds for each key; 0 for no limit. */
export class ApiRateLimit {
  readonly #current: () => number
  readonly #now: () => number
  readonly #calls = new Map<string, Calls>()
  #limit = 0

  /** `limit` may change; the requests before then do not count. */
  constructor(limit: () => number, now: () => number = Date.now) {
    this.#current = limit
    this.#now = now
  }

  /** Counts a request, or rejects it without counting. */
  count(key: string): void {
    const limit = this.#current()
    if (limit !== this.#limit) this.#calls.clear()
    this.#limit = limit
    if (this.#limit === 0) return
    const calls = this.#of(key)
    const now = this.#now()
    const oldest = calls.moments[calls.next] ?? 0
    const wait = oldest + WINDOW_MS - now
    if (oldest > 0 && wait > 0) {
      fail('rate_limited', { limit: this.#limit, retryAfter: Math.ceil(wait / 1000) })
    }
    calls.moments[calls.next] = now
    calls.next = (calls.next + 1) % this.#limit
  }

  #of(key: string): Calls {
    const known = this.#calls.get(key)
    this.#calls.delete(key)
    const calls = known ?? { moments: new Float64Array(this.#limit), next: 0 }
    this.#calls.set(key, calls)
    if (this.#calls.size > MAX_KEYS) {
      for (const oldest of this.#calls.keys()) {
        this.#calls.delete(oldest)
        break
      }
    }
    return calls
  }
}
