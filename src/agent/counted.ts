import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'

/** A stream that knows how many bytes have passed. */
export class Counted implements ByteStream {
  received = 0
  sent = 0
  readonly #stream: ByteStream

  constructor(stream: ByteStream) {
    this.#stream = stream
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

  write(bytes: Buffer, spent?: boolean): boolean {
    this.sent += bytes.length
    return this.#stream.write(bytes, spent)
  }

  end(bytes?: Buffer): void {
    this.sent += bytes?.length ?? 0
    this.#stream.end(bytes)
  }

  abort(): void {
    this.#stream.abort()
  }
}
