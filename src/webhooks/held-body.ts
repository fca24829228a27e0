import type { Body, BodySink, Framing } from '#http/body.ts'

const PIECE_BYTES = 64 * 1024
const CRLF = Buffer.from('\r\n')
const EMPTY = Buffer.alloc(0)

/** Content that was read to its end and is passed on as it came, in pieces, so that a slow reader can stop it. */
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
    // A reader may stop and go on while it is given a piece.
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
    // Nothing of it is kept for as long as the answer takes.
    this.cancel()
    if (this.#chunked) sink?.data(Buffer.from(`0\r\n${this.#trailers}\r\n`, 'latin1'))
    sink?.end(this.#raw ? '' : this.#trailers)
  }
}
