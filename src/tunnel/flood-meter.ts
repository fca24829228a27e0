import { TunnelError } from '#tunnel/frame.ts'

const WINDOW_MS = 10_000

/** What a peer may cause in one window; a normal one stays far below. */
const allowance = {
  /** Streams that were opened and rejected, or reset by the peer itself. */
  refused: 1000,
  /** Frames for streams that do not exist. */
  stray: 10_000,
} as const

// Credit and resets in flight when a stream ended are legitimate.
const LATE_FRAMES = 100

type Flood = keyof typeof allowance

/** Counts useless frames of a peer. */
export class FloodMeter {
  readonly #now: () => number
  #since = -Infinity
  #finished = 0
  readonly #counts: Record<Flood, number> = { refused: 0, stray: 0 }

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** A stream has ended, so frames for it may arrive late. */
  finished(): void {
    this.#finished++
  }

  /** Throws a TunnelError when there were too many. */
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
