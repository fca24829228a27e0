import type { UniqueField } from '#http2/hpack-encoder.ts'
import { Http2Stream, type StreamReader } from '#http2/stream.ts'

/** Gets a request. */
export interface ServerStreamReader extends StreamReader {
  /** Called every now and then. */
  checkTimeouts(now: number): void
}

/** A request of a client and its response, at the server. */
export class Http2ServerStream extends Http2Stream<ServerStreamReader> {
  #hasResponded = false
  /** When unsent bytes were last seen to change, and how many there were. */
  #stalledBytes = 0
  #stalledSince = 0

  get hasResponded(): boolean {
    return this.#hasResponded
  }

  /**
   * Sends an interim response, or the head of the response. `length`: Content-Length.
   */
  respond(status: number, length: number | undefined, lines: string, unique?: UniqueField): void {
    if (this.isOver || this.isLocallyEnded) return
    if (status >= 200) this.#hasResponded = true
    this.sendBlock(this.host.encoder.encode(status, length, lines, unique), 0)
  }

  /** Milliseconds for which the same bytes have waited for the client. */
  stalledMs(now: number): number {
    const { bytes } = this.content
    if (bytes === 0 || bytes !== this.#stalledBytes) {
      this.#stalledBytes = bytes
      this.#stalledSince = now
    }
    return now - this.#stalledSince
  }

  checkTimeouts(now: number): void {
    this.guard(reader => reader.checkTimeouts(now))
  }

  /** What is left of the request is not needed. */
  protected ended(): void {
    this.close(undefined, false)
  }
}
