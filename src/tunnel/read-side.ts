import type { Sink } from '#tunnel/byte-stream.ts'
import { HeldBytes } from '#tunnel/held-bytes.ts'

/** The read side of a byte stream: its reader, and the bytes that wait while it is paused or absent. */
export class ReadSide {
  readonly held = new HeldBytes()
  sink: Sink | undefined
  paused = false
  #delivering = false

  /** New bytes can be passed to the reader at once: it reads, and none wait before them. */
  get isFlowing(): boolean {
    return this.sink !== undefined && !this.paused && !this.#delivering && this.held.length === 0
  }

  /** Passes new bytes on, if it is flowing. */
  pass(bytes: Buffer): void {
    this.#delivering = true
    this.sink?.data(bytes)
    this.#delivering = false
  }

  /**
   * Delivers waiting bytes until the reader pauses or detaches, and announces each piece before. False: the reader
   * itself has called this while it gets bytes, and gets the next ones when it returns.
   */
  deliver(announce: (length: number) => void): boolean {
    if (this.#delivering) return false
    this.#delivering = true
    while (this.sink !== undefined && !this.paused) {
      const piece = this.held.shift()
      if (piece === undefined) break
      announce(piece.length)
      this.sink.data(piece)
    }
    this.#delivering = false
    return true
  }

  /** Detaches the reader and returns it, for a last call. */
  release(): Sink | undefined {
    const sink = this.sink
    this.sink = undefined
    return sink
  }
}
