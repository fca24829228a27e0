import type { Budget } from '#tunnel/budget.ts'
import { INITIAL_WINDOW } from '#tunnel/frame.ts'

/** How far the other end of a session is away. */
export interface RoundTrip {
  /** The shortest round trip measured; undefined before the first. */
  roundTripMs: number | undefined
}

// Below this the initial window is not a bottleneck, and a larger one would only delay others.
const NEAR_MS = 1
// A lost packet delays all behind it by a round trip or two, with a queue on the link: for so long the credit must last.
const FAST_ROUND_TRIPS = 4
const SLOW_ROUND_TRIPS = 16

/**
 * The receive window of one stream. Between Adit ends it grows while the stream is read as fast as it arrives, because
 * a window limits what is in flight in one round trip, and shrinks when the stream is slow or memory short.
 */
export class ReceiveWindow {
  readonly #budget: Budget
  readonly #roundTrip: RoundTrip
  #size = INITIAL_WINDOW
  /** What it shrinks to while bytes are read. */
  #aim = INITIAL_WINDOW
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

  /**
   * Whether credit is due: at half an initial window, so that small reads do not cost a frame each, and a large window is
   * nearly full when a packet is lost.
   */
  isDue(held: number): boolean {
    return (this.#size - this.#credit - held) * 2 >= INITIAL_WINDOW
  }

  /** The credit for all bytes read, while `held` bytes were not. */
  grant(held: number): number {
    const read = this.#size - this.#credit - held
    if (this.#largest > INITIAL_WINDOW) this.#adapt(read)
    this.#shrink(read)
    const increment = this.#size - this.#credit - held
    this.#credit += increment
    return increment
  }

  /** Returns what the budget lent. */
  close(): void {
    this.#budget.unlend(this.#size - INITIAL_WINDOW)
    this.#size = this.#aim = INITIAL_WINDOW
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
    else if (this.#budget.tight || now - since > SLOW_ROUND_TRIPS * roundTripMs)
      this.#aim = Math.max(INITIAL_WINDOW, Math.floor(this.#size / 2))
    else if (now - since < FAST_ROUND_TRIPS * roundTripMs) this.#double()
    this.#measured = 0
    this.#measuredSince = now
  }

  #double(): void {
    const more = Math.min(this.#size, this.#largest - this.#size)
    if (more > 0 && this.#budget.lend(more)) this.#size += more
    this.#aim = this.#size
  }

  /** By no more than was read, because the peer has credit for the rest. */
  #shrink(read: number): void {
    const less = Math.min(read, this.#size - this.#aim)
    this.#budget.unlend(less)
    this.#size -= less
  }
}
