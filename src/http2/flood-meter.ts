const WINDOW_MS = 10_000

/** Frames allowed in ten seconds, by what they cost or hide. */
const allowance = {
  ping: 50,
  /** SETTINGS and GOAWAY. */
  settings: 20,
  /** Requests that the client aborts, or that are refused because it has too many. */
  reset: 100,
  /** Frames and requests that are answered with a reset. */
  invalid: 50,
  window: 5000,
  /** DATA without data. */
  empty: 100,
  continuation: 1000,
  /** PRIORITY, and kinds that are unknown here. */
  other: 1000,
} as const

export type CountedFrame = keyof typeof allowance

/** For each DATA frame sent. Some clients measure the bandwidth with a PING for each, and credit it twice. */
const earned: Readonly<Partial<Record<CountedFrame, number>>> = { ping: 1, window: 4 }

const zero = (): Record<CountedFrame, number> => ({
  ping: 0,
  settings: 0,
  reset: 0,
  invalid: 0,
  window: 0,
  empty: 0,
  continuation: 0,
  other: 0,
})

/** Counts the frames of a client that carry no request and no data. */
export class Http2FloodMeter {
  readonly #now: () => number
  #since = 0
  #counts = zero()
  #sent = 0
  #sentBefore = 0

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** The client has aborted requests in the current window. */
  get hasResets(): boolean {
    return this.#counts.reset > 0
  }

  /** A DATA frame was sent. */
  dataSent(): void {
    this.#sent++
  }

  /** False: over the limit. */
  tolerates(frame: CountedFrame): boolean {
    const now = this.#now()
    if (now - this.#since >= WINDOW_MS) {
      this.#since = now
      this.#counts = zero()
      this.#sentBefore = this.#sent
      this.#sent = 0
    }
    const more = (earned[frame] ?? 0) * (this.#sent + this.#sentBefore)
    return ++this.#counts[frame] <= allowance[frame] + more
  }
}
