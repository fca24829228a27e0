import type { Body, BodySink } from '#http/body.ts'
import type { Http2Stream } from '#http2/stream.ts'

interface SenderOptions {
  readonly stream: Http2Stream
  readonly body: Body
  /** Sends the head, if it is not sent yet; false: it could not be sent, and another message was. */
  head?(): boolean
  /** The body was truncated; `isSent`: whether the head was sent. */
  failed(isSent: boolean): void
}

/** Sends the head and the body of a message on a stream. */
export class MessageSender implements BodySink {
  readonly #options: SenderOptions
  #isSent: boolean
  #isOver = false

  constructor(options: SenderOptions) {
    this.#options = options
    this.#isSent = options.head === undefined
  }

  start(): void {
    this.#options.body.read(this, false)
    if (!this.#isOver) this.#sendHead()
  }

  data(bytes: Buffer): void {
    const { stream, body } = this.#options
    if (this.#isOver || !this.#sendHead()) return
    if (!stream.write(bytes)) body.pause()
  }

  end(trailers: string): void {
    if (this.#isOver || !this.#sendHead()) return
    this.#isOver = true
    this.#options.stream.end(trailers)
  }

  fail(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#options.failed(this.#isSent)
  }

  /** What was written is sent. */
  drained(): void {
    if (!this.#isOver) this.#options.body.resume()
  }

  /** The peer has disconnected, or needs no more. */
  cancel(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#options.body.cancel()
  }

  #sendHead(): boolean {
    if (this.#isSent) return true
    this.#isSent = this.#options.head?.() === true
    if (!this.#isSent) this.cancel()
    return this.#isSent
  }
}
