import { TunnelError } from '#tunnel/frame.ts'

const WINDOW_MS = 10_000

/** What a peer may cause in one window; an honest one stays far below. */
const allowance = {
  /** Streams that were opened and refused, or given up by the peer itself. */
  refused: 1000,
  /** Frames for streams that do not exist. */
  stray: 10_000,
} as const

// Credit and resets that were under way when a stream ended are no fault of the peer.
const LATE_FRAMES = 100

export type Flood = keyof typeof allowance

/** Counts the frames of a peer that cost work and lead to nothing. */
export class FloodMeter {
  readonly #now: () => number
  #since = -Infinity
  #finished = 0
  readonly #counts: Record<Flood, number> = { refused: 0, stray: 0 }

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** A stream has ended, so frames for it may come late. */
  finished(): void {
    this.#finished++
  }

  /** Throws a TunnelError when there were too many of them. */
  count(flood: Flood): void {
    const now = this.#now()
    if (now - this.#since >= WINDOW_MS) this.#restart(now)
    const late = flood === 'stray' ? this.#finished * LATE_FRAMES : 0
    if (++this.#counts[flood] <= allowance[flood] + late) return
    throw new TunnelError(
      'enhance_your_calm',
      `The peer sent more than ${allowance[flood]} ${texts[flood]} in ${WINDOW_MS / 1000} seconds.`,
    )
  }

  #restart(now: number): void {
    this.#since = now
    this.#counts.refused = this.#counts.stray = 0
    this.#finished = 0
  }
}

const texts: Readonly<Record<Flood, string>> = {
  refused: 'streams that were refused',
  stray: 'frames for streams that do not exist',
}
