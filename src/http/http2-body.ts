import type { Http2Stream } from 'node:http2'
import type { Body, BodySink, Framing } from '#http/body.ts'
import { sendChunk } from '#http/send-chunk.ts'
import { guarded } from '#http/http2-guard.ts'
import { trailerLines, type FieldsSender } from '#http/http2-fields.ts'
import { inFrames } from '#http/http2-overhead.ts'

interface Options {
  readonly stream: Http2Stream
  readonly from: FieldsSender
  readonly framing: Framing
  /** The rest of the body is not needed. */
  cancelled?(): void
  /** The end of the body has arrived. */
  ended?(): void
  /** The body violates the protocol; called before its reader is notified. */
  broken?(reason: string): void
  /** Milliseconds of silence, while it is being read, after which `idle` is called. */
  readonly patience?: { readonly milliseconds: number; idle(): void } | undefined
}

/** A message body on an HTTP/2 stream. */
export class Http2Body implements Body {
  readonly framing: Framing
  readonly #stream: Http2Stream
  readonly #options: Options
  #timer: NodeJS.Timeout | undefined
  #sink: BodySink | undefined
  #chunked = false
  #received = 0
  #frames = 0
  #trailers: string | undefined = ''
  #ended = false
  #finished = false
  #complete = false

  constructor(options: Options) {
    this.#stream = options.stream
    this.framing = options.framing
    this.#options = options
    // Both can occur before reading starts: node reports an end at once when nothing is left before it.
    this.#stream.on('trailers', (_headers, _flags, pairs: readonly string[]) => this.#trailersCame(pairs))
    this.#stream.on('end', () => {
      this.#ended = true
      options.ended?.()
      guarded(this.#stream, () => this.#end())
    })
  }

  /** All was delivered, or the rest is not needed. */
  get finished(): boolean {
    return this.#finished
  }

  /** All was delivered. */
  get complete(): boolean {
    return this.#complete
  }

  get counted(): number {
    return this.#received
  }

  /** Bytes received so far, read or not. */
  get travelled(): number {
    return inFrames(this.#received + this.#stream.readableLength, this.#frames)
  }

  get isRead(): boolean {
    return this.#sink !== undefined || this.#finished
  }

  read(sink: BodySink, raw: boolean): void {
    if (this.framing.kind === 'none') {
      this.#finished = true
      sink.end('')
      return
    }
    this.#sink = sink
    this.#chunked = raw && this.framing.kind === 'chunked'
    if (this.#ended) this.#end()
    if (this.#finished) return
    if (this.#stream.destroyed) {
      this.#fail('The stream was reset.')
      return
    }
    const stream = this.#stream
    stream.on('data', (bytes: Buffer) => guarded(stream, () => this.#data(bytes)))
    stream.on('close', () => guarded(stream, () => this.#fail('The stream was reset.')))
    this.#watch()
  }

  pause(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#stream.pause()
  }

  resume(): void {
    if (this.#finished) return
    this.#watch()
    this.#stream.resume()
  }

  cancel(): void {
    if (this.#finished) return
    this.#leave()
    this.#stream.pause()
    this.#options.cancelled?.()
  }

  /** Disables the idle timeout: both sides send. */
  relax(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #watch(): void {
    const { patience } = this.#options
    if (patience === undefined || this.#timer !== undefined) return
    this.#timer = setTimeout(() => patience.idle(), patience.milliseconds).unref()
  }

  #data(bytes: Buffer): void {
    const sink = this.#sink
    if (sink === undefined || bytes.length === 0) return
    this.#timer?.refresh()
    this.#received += bytes.length
    this.#frames++
    if (this.framing.kind === 'length' && this.#received > this.framing.length) {
      this.#fail('More content came than Content-Length said.')
      return
    }
    if (this.#chunked) sendChunk(sink, bytes)
    else sink.data(bytes)
  }

  #trailersCame(pairs: readonly string[]): void {
    this.#trailers = trailerLines(pairs, this.#options.from)
  }

  #end(): void {
    const sink = this.#sink
    if (sink === undefined || this.#finished) return
    // Node also ends its readable side on a reset. An upstream may reset without an error after its complete response,
    // because it needs no more of the request (RFC 9113 §8.1); a client that resets has gone.
    const cut = this.#options.from === 'client' && this.#stream.aborted
    if (cut || this.#stream.rstCode !== 0) return
    if (this.framing.kind === 'length' && this.#received !== this.framing.length) {
      this.#fail('Less content came than Content-Length said.')
      return
    }
    const trailers = this.#trailers
    if (trailers === undefined) {
      this.#options.broken?.('a trailer is not valid')
      this.#fail('The trailers are not valid.')
      return
    }
    this.#leave()
    this.#complete = true
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
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
