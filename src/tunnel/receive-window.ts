import type { Budget } from '#tunnel/budget.ts'
import { INITIAL_WINDOW } from '#tunnel/frame.ts'

/** How far the other end of a session is away. */
export interface RoundTrip {
  /** The shortest round trip measured; undefined before the first. */
  roundTripMs: number | undefined
}

// Below this the initial window is no bottleneck, and a larger one would only delay others.
const NEAR_MS = 1
const FAST_ROUND_TRIPS = 2
const SLOW_ROUND_TRIPS = 8

/**
 * The receive window of one stream. Between Adit ends it grows while the stream is read as fast as it arrives, because
 * a window limits what is in flight in one round trip, and shrinks when the stream is slow or memory short.
 */
export class ReceiveWindow {
  readonly #budget: Budget
  readonly #roundTrip: RoundTrip
  #size = INITIAL_WINDOW
  #credit = INITIAL_WINDOW
  #largest = INITIAL_WINDOW
  // Bytes granted since then, to measure how long reading a whole window takes.
  #measured = 0
  #measuredSince: number | undefined

  constructor(budget: Budget, roundTrip: RoundTrip) {
    this.#budget = budget
    this.#roundTrip = roundTrip
  }

  /** Credit for the bytes dropped before a reset, if the peer has less; 0 otherwise. */
  refill(): number {
    const increment = this.#credit > INITIAL_WINDOW / 2 ? 0 : INITIAL_WINDOW - this.#credit
    this.#credit += increment
    return increment
  }

  get size(): number {
    return this.#size
  }

  mayGrowTo(largest: number): void {
    this.#largest = largest
  }

  /** False: the peer exceeded its window. */
  receive(length: number): boolean {
    if (length > this.#credit) return false
    this.#credit -= length
    return true
  }

  /** Whether credit is due: at half a window, so that small reads do not cost a frame each. */
  isDue(held: number): boolean {
    return (this.#size - this.#credit - held) * 2 >= this.#size
  }

  /** The credit for all bytes read, while `held` bytes were not. */
  grant(held: number): number {
    const read = this.#size - this.#credit - held
    if (this.#largest > INITIAL_WINDOW) this.#adapt(read)
    const increment = this.#size - this.#credit - held
    this.#credit += increment
    return increment
  }

  /** Returns what the budget lent. */
  close(): void {
    this.#budget.unlend(this.#size - INITIAL_WINDOW)
    this.#size = INITIAL_WINDOW
    this.#largest = INITIAL_WINDOW
  }

  #adapt(read: number): void {
    const { roundTripMs } = this.#roundTrip
    if (roundTripMs === undefined || roundTripMs < NEAR_MS) return
    const now = performance.now()
    this.#measured += read
    const since = this.#measuredSince
    if (since !== undefined && this.#measured < this.#size && !this.#budget.tight) return
    if (since === undefined) this.#measured = 0
    else if (this.#budget.tight || now - since > SLOW_ROUND_TRIPS * roundTripMs) this.#halve()
    else if (now - since < FAST_ROUND_TRIPS * roundTripMs) this.#double()
    this.#measured = 0
    this.#measuredSince = now
  }

  #double(): void {
    const more = Math.min(this.#size, this.#largest - this.#size)
    if (more > 0 && this.#budget.lend(more)) this.#size += more
  }

  /** With half a window read, at most the other half is in flight, so the peer never has too much credit. */
  #halve(): void {
    const less = Math.min(this.#size - INITIAL_WINDOW, Math.floor(this.#size / 2))
    this.#budget.unlend(less)
    this.#size -= less
  }
}
