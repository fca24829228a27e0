import type { Body, BodySink, Framing } from '#http/body.ts'
import { ChunkScanner, type TrailerRules } from '#http/http1-chunks.ts'
import { release } from '#tunnel/buffer-pool.ts'

/** The connection that a body comes from. */
export interface BodySource {
  /** The reader cannot take more for now. */
  holdContent(): void
  moreContent(): void
  /** The body is complete, followed by `rest`. */
  contentEnded(rest: Buffer | undefined): void
  /** The body violates the protocol; its reader is notified after this. */
  contentBroken(reason: string): void
  /** The rest is not needed. */
  contentUnwanted(): void
}

/** A message body on an HTTP/1 connection. Its connection pushes the bytes after the head. */
export class IncomingBody implements Body {
  readonly framing: Framing
  readonly #source: BodySource
  readonly #chunks: ChunkScanner | undefined
  #left: number
  /** For a body that ends with its connection. */
  #passed = 0
  #sink: BodySink | undefined
  #raw = false
  #paused = false
  #held: Buffer | undefined
  #finished = false
  #unwanted = false
  #closed = false
  #failure: Error | undefined

  constructor(framing: Framing, source: BodySource, trailers: TrailerRules) {
    this.framing = framing
    this.#source = source
    this.#chunks = framing.kind === 'chunked' ? new ChunkScanner(trailers) : undefined
    this.#left = framing.kind === 'length' ? framing.length : 0
  }

  /** It is complete, or nothing more will arrive. */
  get finished(): boolean {
    return this.#finished
  }

  /** Whether a reader accepts bytes now. */
  get flowing(): boolean {
    return this.#sink !== undefined && !this.#paused
  }

  /** Outstanding bytes of a body of known length. */
  get left(): number {
    return this.#left
  }

  get counted(): number {
    if (this.#chunks !== undefined) return this.#chunks.content
    return this.framing.kind === 'length' ? this.framing.length - this.#left : this.#passed
  }

  get unwanted(): boolean {
    return this.#unwanted
  }

  get isRead(): boolean {
    return this.#sink !== undefined || this.#finished || this.#unwanted
  }

  read(sink: BodySink, raw: boolean): void {
    if (this.#failure !== undefined) sink.fail(this.#failure)
    if (this.#finished) return
    this.#sink = sink
    this.#raw = raw
    this.#goOn()
  }

  pause(): void {
    if (this.#paused || this.#finished) return
    this.#paused = true
    this.#source.holdContent()
  }

  resume(): void {
    if (!this.#paused) return
    this.#paused = false
    this.#goOn()
  }

  cancel(): void {
    if (this.#finished || this.#unwanted) return
    this.#unwanted = true
    this.#sink = undefined
    this.#source.contentUnwanted()
    // Buffered bytes may contain the end, after which the next message begins.
    this.#goOn()
  }

  /** Bytes after the head; those after the body are returned to the source. */
  push(bytes: Buffer): void {
    if (this.#finished) return
    if (!this.#unwanted && (this.#sink === undefined || this.#paused)) {
      this.#held = this.#held === undefined ? bytes : Buffer.concat([this.#held, bytes])
      return
    }
    if (this.#chunks !== undefined) this.#pushChunks(bytes, this.#chunks)
    else if (this.framing.kind === 'length') this.#pushLength(bytes)
    else this.#pass(bytes)
  }

  /** The sender closed the connection. */
  close(): void {
    if (this.#finished) return
    // Buffered data is still valid, and the end is after it.
    if (this.#held !== undefined) this.#closed = true
    else if (this.framing.kind === 'until_close') this.#finish('', undefined)
    else this.#break('the connection ended before the content')
  }

  fail(error: Error): void {
    if (this.#finished) return
    this.#finished = true
    this.#held = undefined
    this.#failure = error
    this.#sink?.fail(error)
  }

  #goOn(): void {
    const held = this.#held
    if (held !== undefined) {
      this.#held = undefined
      this.push(held)
      if (this.#closed && this.#held === undefined) this.close()
    }
    if (!this.#finished && !this.#paused) this.#source.moreContent()
  }

  #pass(bytes: Buffer): void {
    this.#passed += bytes.length
    this.#deliver(bytes)
  }

  #deliver(bytes: Buffer): void {
    if (this.#sink === undefined) release(bytes)
    else this.#sink.data(bytes)
  }

  #pushLength(bytes: Buffer): void {
    const left = this.#left
    const over = bytes.length > left
    this.#left = over ? 0 : left - bytes.length
    if (left > 0) this.#deliver(over ? bytes.subarray(0, left) : bytes)
    if (this.#left === 0) this.#finish('', over ? bytes.subarray(left) : undefined)
  }

  #pushChunks(bytes: Buffer, chunks: ChunkScanner): void {
    const isUnread = this.#sink === undefined
    const end = this.#raw
      ? chunks.scan(bytes)
      : chunks.scan(bytes, (from, to) => this.#sink?.data(bytes.subarray(from, to)))
    if (chunks.fault !== undefined) {
      this.#break(chunks.fault)
      return
    }
    const whole = end === undefined || end === bytes.length
    if (isUnread || this.#raw) this.#deliver(whole ? bytes : bytes.subarray(0, end))
    if (end !== undefined)
      this.#finish(this.#raw ? '' : chunks.trailers, whole ? undefined : bytes.subarray(end))
  }

  #break(reason: string): void {
    if (this.#finished) return
    this.#finished = true
    this.#failure = new Error(reason)
    this.#source.contentBroken(reason)
    this.#sink?.fail(this.#failure)
  }

  #finish(trailers: string, rest: Buffer | undefined): void {
    if (this.#finished) return
    this.#finished = true
    this.#source.contentEnded(rest)
    this.#sink?.end(trailers)
  }
}
