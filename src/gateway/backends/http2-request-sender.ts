import type { ClientHttp2Stream } from 'node:http2'
import type { Body, BodySink } from '#http/body.ts'
import { guarded } from '#gateway/backends/http2-guard.ts'
import { headersOf } from '#gateway/backends/http2-pairs.ts'

/** Buffered before the head is sent; a body with more available is paused. */
const GATHERED_BYTES = 64 * 1024

interface Options {
  readonly body: Body
  /**
   * Sends the head and returns the stream for what follows; undefined when it could not be sent. `ends`: nothing
   * follows. `trailers`: the stream asks for them after the body.
   */
  head(ends: boolean, trailers: boolean): ClientHttp2Stream | undefined
  /** The body was truncated. */
  failed(): void
  /** All was given to the stream. */
  finished(): void
}

/**
 * Sends the head and the body of a request. Available data is sent together with the head, in one write and without an extra stream in
 * between.
 */
export class RequestSender implements BodySink {
  readonly #options: Options
  #stream: ClientHttp2Stream | undefined
  #gathered: Buffer[] | undefined = []
  #size = 0
  #trailers: string | undefined
  #over = false

  constructor(options: Options) {
    this.#options = options
  }

  start(): void {
    const { body } = this.#options
    body.read(this, false)
    if (this.#over) return
    const pieces = this.#gathered ?? []
    this.#gathered = undefined
    const trailers = this.#trailers
    // Node ends a stream normally before it resets it, unless it still waits for trailers: a truncated body without a
    // known length would look complete.
    const mayTrail = trailers === undefined ? body.framing.kind !== 'length' : trailers !== ''
    const stream = this.#options.head(trailers === '' && pieces.length === 0, mayTrail)
    if (stream === undefined) {
      this.cancel()
      return
    }
    this.#stream = stream
    if (trailers !== undefined) {
      this.#finish(stream, pieces, trailers)
      return
    }
    stream.on('drain', () => {
      if (!this.#over) guarded(stream, () => body.resume())
    })
    for (const piece of pieces) this.data(piece)
    if (this.#size > GATHERED_BYTES && !stream.writableNeedDrain) body.resume()
  }

  data(bytes: Buffer): void {
    if (this.#over || bytes.length === 0) return
    if (this.#gathered !== undefined) {
      this.#gathered.push(bytes)
      this.#size += bytes.length
      if (this.#size > GATHERED_BYTES) this.#options.body.pause()
      return
    }
    if (this.#stream?.write(bytes) === false) this.#options.body.pause()
  }

  end(trailers: string): void {
    if (this.#over) return
    this.#trailers = trailers
    if (this.#stream !== undefined) this.#finish(this.#stream, [], trailers)
  }

  fail(): void {
    if (this.#over) return
    this.#over = true
    this.#options.failed()
  }

  /** The upstream needs no more of it. */
  cancel(): void {
    if (this.#over) return
    this.#over = true
    this.#options.body.cancel()
  }

  #finish(stream: ClientHttp2Stream, pieces: readonly Buffer[], trailers: string): void {
    this.#over = true
    // Without a listener node ends the stream itself when it wants trailers.
    if (trailers !== '') {
      stream.once('wantTrailers', () => guarded(stream, () => stream.sendTrailers(headersOf(trailers))))
    }
    for (const piece of pieces) stream.write(piece)
    stream.end()
    this.#options.finished()
  }
}
