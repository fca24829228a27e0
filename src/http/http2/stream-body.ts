import type { Body, BodySink, Framing } from '#http/body.ts'
import { type FieldsSender, trailerLines } from '#http/http2/fields.ts'
import { sendChunk } from '#http/send-chunk.ts'
import type { HeaderField } from '#http2/header-field.ts'
import { CANCEL } from '#http2/protocol.ts'
import type { Http2Stream } from '#http2/stream.ts'

interface BodyOptions {
  readonly stream: Http2Stream
  readonly from: FieldsSender
  readonly framing: Framing
  /** Milliseconds without data, while it is read, after which the stream is reset. */
  readonly idleMs: number
  now(): number
  /** The body violates the protocol; called before its reader is notified. */
  broken?(reason: string): void
  /** The rest of the body is not needed. */
  cancelled?(): void
}

/** The content of a message on an HTTP/2 stream. */
export class StreamBody implements Body {
  readonly framing: Framing
  readonly #options: BodyOptions
  readonly #stream: Http2Stream
  #sink: BodySink | undefined
  #isChunked = false
  #isPaused = false
  #isFinished = false
  #counted = 0
  #since = 0
  #idleMs: number

  constructor(options: BodyOptions) {
    this.#options = options
    this.#stream = options.stream
    this.framing = options.framing
    this.#idleMs = options.idleMs
  }

  /** All was delivered, or the rest is not needed. */
  get isFinished(): boolean {
    return this.#isFinished
  }

  get counted(): number {
    return this.#counted
  }

  get isRead(): boolean {
    return this.#sink !== undefined || this.#isFinished
  }

  read(sink: BodySink, raw: boolean): void {
    this.#sink = sink
    this.#isChunked = raw && this.framing.kind === 'chunked'
    this.#since = this.#options.now()
    if (this.#stream.isOver) this.fail('The stream was reset.')
    else this.#stream.resume()
  }

  pause(): void {
    this.#isPaused = true
    this.#stream.pause()
  }

  resume(): void {
    if (this.#isFinished) return
    this.#isPaused = false
    this.#since = this.#options.now()
    this.#stream.resume()
  }

  cancel(): void {
    if (this.#isFinished) return
    this.#leave()
    this.#stream.pause()
    this.#options.cancelled?.()
  }

  /** Disables the idle timeout: both sides send. */
  relax(): void {
    this.#idleMs = Infinity
  }

  checkTimeouts(now: number): void {
    if (this.#sink === undefined || this.#isPaused) return
    if (now - this.#since > this.#idleMs) this.#stream.reset(CANCEL)
  }

  /** Data of the stream. */
  data(bytes: Buffer): void {
    const sink = this.#sink
    if (sink === undefined) return
    this.#since = this.#options.now()
    this.#counted += bytes.length
    if (this.#isChunked) sendChunk(sink, bytes)
    else sink.data(bytes)
  }

  /** The end of the stream. */
  end(fields: readonly HeaderField[]): void {
    const sink = this.#sink
    if (sink === undefined) return
    const trailers = trailerLines(fields, this.#options.from)
    if (trailers === undefined) {
      this.#options.broken?.('a trailer is not valid')
      this.fail('The trailers are not valid.')
      return
    }
    this.#leave()
    if (this.#isChunked) sink.data(Buffer.from(`0\r\n${trailers}\r\n`, 'latin1'))
    sink.end(this.#isChunked ? '' : trailers)
  }

  /** Every stream closes in the end, so an error is made only for a body that still needs it. */
  fail(reason: string): void {
    const sink = this.#sink
    if (this.#isFinished || sink === undefined) return
    this.#leave()
    sink.fail(new Error(reason))
  }

  #leave(): void {
    this.#isFinished = true
    this.#sink = undefined
  }
}
