import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'
import type { Tap } from '#tunnel/splice.ts'

/** A stream that counts its bytes, and shows them to a tap. */
export class CountedStream implements ByteStream {
  received = 0
  sent = 0
  readonly #stream: ByteStream
  readonly #tap: Tap | undefined

  constructor(stream: ByteStream, tap?: Tap) {
    this.#stream = stream
    this.#tap = tap
  }

  get closed(): boolean {
    return this.#stream.closed
  }

  get peerFinished(): boolean {
    return this.#stream.peerFinished
  }

  attach(sink: Sink): void {
    this.#stream.attach({
      data: bytes => {
        this.received += bytes.length
        this.#tap?.sent(bytes)
        sink.data(bytes)
      },
      end: () => sink.end(),
      writable: () => sink.writable?.(),
      closed: error => sink.closed(error),
    })
  }

  detach(rest?: Buffer): void {
    this.received -= rest?.length ?? 0
    this.#stream.detach(rest)
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    this.#stream.resume()
  }

  write(bytes: Buffer, transferOwnership?: boolean): boolean {
    this.sent += bytes.length
    this.#tap?.received(bytes)
    return this.#stream.write(bytes, transferOwnership)
  }

  end(bytes?: Buffer): void {
    this.sent += bytes?.length ?? 0
    if (bytes !== undefined) this.#tap?.received(bytes)
    this.#stream.end(bytes)
  }

  abort(): void {
    this.#stream.abort()
  }
}
