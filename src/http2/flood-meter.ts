const WINDOW_MS = 10_000

/** Frames allowed in ten seconds, by what they cost or hide. */
const allowance = {
  ping: 50,
  /** SETTINGS and GOAWAY. */
  settings: 20,
  /** Requests that the peer aborts, or that are refused because it has too many. */
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

type Earned = Readonly<Partial<Record<CountedFrame, number>>>
/** For each DATA frame sent. Some peers measure the bandwidth with a PING for each, and credit it twice. */
const forData: Earned = { ping: 1, window: 4 }
/** For each request sent: a service may stop its upload, credit it, and respond with a long head and trailers. */
const forRequest: Earned = { reset: 1, window: 2, continuation: 8 }

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

/** Counts the frames of a peer that carry no message and no data. */
export class Http2FloodMeter {
  readonly #now: () => number
  #since = 0
  #counts = zero()
  /** DATA frames and requests sent in this window and the one before. */
  #data = 0
  #dataBefore = 0
  #requests = 0
  #requestsBefore = 0

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** The peer has aborted requests in the current window. */
  get hasResets(): boolean {
    return this.#counts.reset > 0
  }

  /** A DATA frame was sent. */
  dataSent(): void {
    this.#data++
  }

  requestSent(): void {
    this.#requests++
  }

  /** False: over the limit. */
  tolerates(frame: CountedFrame): boolean {
    const now = this.#now()
    if (now - this.#since >= WINDOW_MS) {
      this.#since = now
      this.#counts = zero()
      this.#dataBefore = this.#data
      this.#requestsBefore = this.#requests
      this.#data = this.#requests = 0
    }
    const byData = (forData[frame] ?? 0) * (this.#data + this.#dataBefore)
    const byRequests = (forRequest[frame] ?? 0) * (this.#requests + this.#requestsBefore)
    return ++this.#counts[frame] <= allowance[frame] + byData + byRequests
  }
}
