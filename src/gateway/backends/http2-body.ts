import type { ClientHttp2Stream } from 'node:http2'
import { guarded } from '#gateway/backends/http2-guard.ts'
import type { Body, BodySink, Framing } from '#http/body.ts'
import { trailerLines } from '#http/http2/fields.ts'
import { sendChunk } from '#http/send-chunk.ts'

/** The body of a response on an HTTP/2 stream. */
export class Http2Body implements Body {
  readonly framing: Framing
  readonly #stream: ClientHttp2Stream
  readonly #cancelled: () => void
  #sink: BodySink | undefined
  #chunked = false
  #received = 0
  #trailers: string | undefined = ''
  #ended = false
  #finished = false

  /** `cancelled` is called when the rest is not needed. */
  constructor(stream: ClientHttp2Stream, framing: Framing, cancelled: () => void) {
    this.#stream = stream
    this.framing = framing
    this.#cancelled = cancelled
    // Both can occur before reading starts: node reports an end at once when nothing is left before it.
    stream.on('trailers', (_headers, _flags, pairs: readonly string[]) => {
      this.#trailers = trailerLines(pairs, 'upstream')
    })
    stream.on('end', () => {
      this.#ended = true
      guarded(stream, () => this.#end())
    })
  }

  get counted(): number {
    return this.#received
  }

  read(sink: BodySink, raw: boolean): void {
    this.#sink = sink
    this.#chunked = raw && this.framing.kind === 'chunked'
    if (this.#ended) this.#end()
    if (this.#finished) return
    const stream = this.#stream
    if (stream.destroyed) {
      this.#fail('The stream was reset.')
      return
    }
    stream.on('data', (bytes: Buffer) => guarded(stream, () => this.#data(bytes)))
    stream.on('close', () => guarded(stream, () => this.#fail('The stream was reset.')))
  }

  pause(): void {
    this.#stream.pause()
  }

  resume(): void {
    if (!this.#finished) this.#stream.resume()
  }

  cancel(): void {
    if (this.#finished) return
    this.#leave()
    this.#stream.pause()
    this.#cancelled()
  }

  #data(bytes: Buffer): void {
    const sink = this.#sink
    if (sink === undefined || bytes.length === 0) return
    this.#received += bytes.length
    if (this.framing.kind === 'length' && this.#received > this.framing.length) {
      this.#fail('More content came than Content-Length said.')
      return
    }
    if (this.#chunked) sendChunk(sink, bytes)
    else sink.data(bytes)
  }

  #end(): void {
    const sink = this.#sink
    if (sink === undefined || this.#finished) return
    // Node also ends its readable side on a reset. An upstream may reset without an error after its complete response,
    // because it needs no more of the request (RFC 9113 §8.1).
    if (this.#stream.rstCode !== 0) return
    if (this.framing.kind === 'length' && this.#received !== this.framing.length) {
      this.#fail('Less content came than Content-Length said.')
      return
    }
    const trailers = this.#trailers
    if (trailers === undefined) {
      this.#fail('The trailers are not valid.')
      return
    }
    this.#leave()
    if (this.#chunked) sink.data(Buffer.from(`0\r\n${trailers}\r\n`, 'latin1'))
    sink.end(this.#chunked ? '' : trailers)
  }

  /** Every stream closes in the end, so an error is made only for a body that still needs it. */
  #fail(reason: string): void {
    const sink = this.#sink
    if (this.#finished || sink === undefined) return
    this.#leave()
    sink.fail(new Error(reason))
  }

  #leave(): void {
    this.#finished = true
    this.#sink = undefined
  }
}
