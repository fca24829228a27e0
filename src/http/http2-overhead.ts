import { STREAM_WINDOW } from '#http/http2-limits.ts'

const PER_WINDOW_MS = 10_000
/** About ten thousand frames of WINDOW_UPDATE. */
const FREE_BYTES = 128 * 1024
/** What comes in for what went out: at most two updates of a window for each frame of content. */
const PER_WRITTEN = 0.25
/** A stream that was ended here may have had a whole window of content on its way. */
const MAX_CUT_STREAMS = 16
const FRAME_HEAD = 9
/** Next to the text of a pair: its lengths. */
const PER_PAIR = 6
/** Priorities and a reset. */
const PER_STREAM = 128

interface Seen {
  readonly at: number
  readonly overhead: number
  readonly written: number
  readonly cut: number
}

/**
 * Tells when a client sends many frames that carry neither heads nor content, such as WINDOW_UPDATE. Node handles those
 * without telling of any, so they are counted in bytes: what was read of a connection and cannot be accounted for.
 */
export class OverheadMeter {
  #accounted = 0
  #cut = 0
  #since: Seen = { at: 0, overhead: 0, written: 0, cut: 0 }

  /** A stream began with these names and values. */
  head(pairs: readonly string[]): void {
    let bytes = FRAME_HEAD + PER_STREAM + (pairs.length / 2) * PER_PAIR
    for (const text of pairs) bytes += text.length
    this.#accounted += bytes
  }

  /** Content that came on a stream which is over; `cut`: it was ended here, before all of it had come. */
  content(bytes: number, cut: boolean): void {
    this.#accounted += bytes
    if (cut) this.#cut++
  }

  /** False: too much of it. `open` is the content of streams that are not over. */
  tolerates(now: number, read: number, written: number, open: number): boolean {
    const seen = { at: now, overhead: read - this.#accounted - open, written, cut: this.#cut }
    const before = this.#since
    if (now - before.at >= PER_WINDOW_MS) this.#since = seen
    return seen.overhead - before.overhead <= FREE_BYTES + allowed(seen, before)
  }
}

function allowed(seen: Seen, before: Seen): number {
  const cut = Math.min(seen.cut - before.cut, MAX_CUT_STREAMS)
  return (seen.written - before.written) * PER_WRITTEN + cut * STREAM_WINDOW
}

/** The bytes that content of that length took in so many frames. */
export const inFrames = (bytes: number, frames: number): number => bytes + frames * FRAME_HEAD
