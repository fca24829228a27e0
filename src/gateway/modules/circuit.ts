/** When a circuit trips, and for how long. */
export interface CircuitConfig {
  readonly trippedMs: number
  readonly windowMs: number
  readonly buckets: number
  /** Minimum number of responses within the window. */
  readonly volume: number
  /** The circuit trips when a larger fraction of them has failed; between 0 and 1. */
  readonly share: number
}

/** Counts responses in a rolling window of buckets. There are no timers: the next count clears expired buckets. */
class RollingWindow {
  readonly #bucketMs: number
  readonly #totals: Float64Array
  readonly #errors: Float64Array
  #turn = 0
  total = 0
  errors = 0

  constructor(windowMs: number, buckets: number) {
    this.#bucketMs = windowMs / buckets
    this.#totals = new Float64Array(buckets)
    this.#errors = new Float64Array(buckets)
  }

  count(now: number, failed: boolean): void {
    const turn = Math.floor(now / this.#bucketMs)
    if (turn > this.#turn) this.#rollTo(turn)
    const at = this.#turn % this.#totals.length
    this.#totals[at] = (this.#totals[at] ?? 0) + 1
    this.total++
    if (!failed) return
    this.#errors[at] = (this.#errors[at] ?? 0) + 1
    this.errors++
  }

  clear(): void {
    this.#totals.fill(0)
    this.#errors.fill(0)
    this.total = this.errors = 0
  }

  #rollTo(turn: number): void {
    const { length } = this.#totals
    if (turn - this.#turn >= length) this.clear()
    else
      for (let gone = this.#turn + 1; gone <= turn; gone++) {
        const at = gone % length
        this.total -= this.#totals[at] ?? 0
        this.errors -= this.#errors[at] ?? 0
        this.#totals[at] = this.#errors[at] = 0
      }
    this.#turn = turn
  }
}

/** Held by a request from admission until its response. */
export interface CircuitPermit {
  readonly isProbe: boolean
}

/**
 * Closed, it allows all requests and counts responses. When too many failed it opens, and rejects all for a time. After
 * that one request at a time may try: a success closes it, a failure opens it again.
 */
export class Circuit {
  readonly #config: CircuitConfig
  readonly #now: () => number
  readonly #window: RollingWindow
  /** One for all requests until the circuit opens: earlier requests are no evidence for the time after. */
  #ordinary: CircuitPermit = { isProbe: false }
  /** Undefined while the circuit is closed. */
  #openUntil: number | undefined
  #probe: CircuitPermit | undefined

  constructor(config: CircuitConfig, now: () => number = () => performance.now()) {
    this.#config = config
    this.#now = now
    this.#window = new RollingWindow(config.windowMs, config.buckets)
  }

  /** Undefined when no request may be sent now. */
  admit(): CircuitPermit | undefined {
    if (this.#openUntil === undefined) return this.#ordinary
    if (this.#probe !== undefined || this.#now() < this.#openUntil) return undefined
    this.#probe = { isProbe: true }
    return this.#probe
  }

  /** Milliseconds until a request may try; 0 while one is trying. */
  get waitMs(): number {
    return this.#openUntil === undefined ? 0 : Math.max(0, this.#openUntil - this.#now())
  }

  /** The response head has arrived. */
  answered(permit: CircuitPermit, failed: boolean): void {
    if (permit.isProbe) {
      if (permit !== this.#probe) return
      this.#probe = undefined
      if (failed) this.#open(this.#now())
      else this.#close()
      return
    }
    if (permit !== this.#ordinary) return
    const window = this.#window
    const now = this.#now()
    window.count(now, failed)
    const { volume, share } = this.#config
    if (window.errors > 0 && window.total >= volume && window.errors / window.total > share) this.#open(now)
  }

  /** No response will show the service's health: the client has gone, or it was an internal error. */
  forget(permit: CircuitPermit): void {
    if (permit === this.#probe) this.#probe = undefined
  }

  #open(now: number): void {
    this.#openUntil = now + this.#config.trippedMs
    this.#ordinary = { isProbe: false }
  }

  #close(): void {
    this.#openUntil = undefined
    this.#window.clear()
  }
}
