import type { Body, BodySink, Framing } from '#http/body.ts'

const PIECE_BYTES = 64 * 1024
const CRLF = Buffer.from('\r\n')
const EMPTY = Buffer.alloc(0)

/** A buffered body, forwarded unchanged in chunks, so that a slow reader can pause it. */
export class HeldBody implements Body {
  readonly framing: Framing
  readonly #trailers: string
  #bytes: Buffer
  #at = 0
  #sink: BodySink | undefined
  #raw = false
  #paused = false
  #flowing = false

  constructor(bytes: Buffer, framing: Framing, trailers: string) {
    this.#bytes = bytes
    this.framing = framing
    this.#trailers = trailers
  }

  read(sink: BodySink, raw: boolean): void {
    this.#sink = sink
    this.#raw = raw
    this.#flow()
  }

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    this.#flow()
  }

  cancel(): void {
    this.#sink = undefined
    this.#bytes = EMPTY
  }

  #flow(): void {
    // A reader may pause and resume while it gets a chunk.
    if (this.#flowing) return
    this.#flowing = true
    while (this.#sink !== undefined && !this.#paused && this.#at < this.#bytes.length) this.#pass(this.#sink)
    this.#flowing = false
    if (this.#at >= this.#bytes.length && !this.#paused) this.#end()
  }

  get #chunked(): boolean {
    return this.#raw && this.framing.kind === 'chunked'
  }

  #pass(sink: BodySink): void {
    const piece = this.#bytes.subarray(this.#at, this.#at + PIECE_BYTES)
    this.#at += piece.length
    if (this.#chunked) sink.data(Buffer.from(`${piece.length.toString(16)}\r\n`, 'latin1'))
    sink.data(piece)
    if (this.#chunked) sink.data(CRLF)
  }

  #end(): void {
    const sink = this.#sink
    // Do not retain it until the end of the response.
    this.cancel()
    if (this.#chunked) sink?.data(Buffer.from(`0\r\n${this.#trailers}\r\n`, 'latin1'))
    sink?.end(this.#raw ? '' : this.#trailers)
  }
}
