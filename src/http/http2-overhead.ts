import { STREAM_WINDOW } from '#http/http2-limits.ts'

const PER_WINDOW_MS = 10_000
/** About ten thousand frames of WINDOW_UPDATE. */
const FREE_BYTES = 128 * 1024
/** Inbound bytes per outbound bytes: at most two window updates for each DATA frame. */
const PER_WRITTEN = 0.25
/** A stream that was closed here may have had a whole window of data in flight. */
const MAX_CUT_STREAMS = 16
const FRAME_HEAD = 9
/** Per header pair: its lengths. */
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
 * Detects clients that send many frames without headers or data, such as WINDOW_UPDATE. Node does not report those, so
 * they are counted in bytes: what was read from a connection and is not accounted for.
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

  /** Data received on a closed stream; `cut`: it was closed here before all had arrived. */
  content(bytes: number, cut: boolean): void {
    this.#accounted += bytes
    if (cut) this.#cut++
  }

  /** False: over the limit. `open` is the data of open streams. */
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

/** The frame bytes of data of that length. */
export const inFrames = (bytes: number, frames: number): number => bytes + frames * FRAME_HEAD
