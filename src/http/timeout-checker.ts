/** Something with time limits. */
export interface HasTimeouts {
  /** Checks for timeouts; `now` is the clock of the checker. */
  checkTimeouts(now: number): void
}

/**
 * One timer for the limits of many connections: a timer for each costs more than serving a small request. Its clock
 * advances once per period, which is exact enough for limits of seconds.
 */
export class TimeoutChecker {
  #now = performance.now()
  readonly #periodMs: number
  readonly #watched = new Set<HasTimeouts>()
  #timer: NodeJS.Timeout | undefined

  constructor(periodMs: number) {
    this.#periodMs = periodMs
  }

  /** The time of the last sweep; the current time while nothing is watched. */
  get now(): number {
    return this.#timer === undefined ? performance.now() : this.#now
  }

  add(swept: HasTimeouts): void {
    this.#watched.add(swept)
    if (this.#timer !== undefined) return
    this.#now = performance.now()
    this.#timer = setInterval(() => this.#sweep(), this.#periodMs).unref()
  }

  delete(swept: HasTimeouts): void {
    this.#watched.delete(swept)
    if (this.#watched.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** After the process stood still, what arrived meanwhile is read before anything is late. */
  #sweep(): void {
    this.#now = performance.now()
    setImmediate(() => this.#check())
  }

  #check(): void {
    for (const swept of this.#watched) swept.checkTimeouts(this.#now)
  }
}

/** The timer that all connections of the process share. */
export const timeoutChecker = new TimeoutChecker(500)
