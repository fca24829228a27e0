import type { FrameSink } from '#http2/output.ts'
import type { ByteStream } from '#tunnel/byte-stream.ts'
import { ownedCopy } from '#tunnel/buffer-pool.ts'

/** Writes frames to a stream of a tunnel, which keeps bytes as long as it needs them: so it gets a copy. */
export class StreamSink implements FrameSink {
  readonly #stream: ByteStream
  #waiting: (() => void)[] = []
  #waitingBytes = 0

  constructor(stream: ByteStream) {
    this.#stream = stream
  }

  get writableLength(): number {
    return this.#waitingBytes
  }

  write(bytes: Buffer, written: () => void): void {
    if (this.#stream.write(ownedCopy(bytes, 0, bytes.length), true)) {
      written()
    } else {
      this.#waitingBytes += bytes.length
      this.#waiting.push(written)
    }
  }

  end(): void {
    if (!this.#stream.closed) this.#stream.end()
  }

  /** The stream has sent all that it had. */
  writable(): void {
    const waiting = this.#waiting
    this.#waiting = []
    this.#waitingBytes = 0
    for (const written of waiting) written()
  }
}
