import { type BodyLength, readResponseStart, type ResponseStart } from '#agent/capture/head.ts'

interface MessageSink {
  /** A message head is complete. */
  head(start: ResponseStart): BodyLength
  /** Bytes of the current message, its head first. They must be copied to be kept. */
  bytes(bytes: Buffer): void
  /** The message is complete. */
  end(): void
}

type State = 'head' | 'sized' | 'chunk' | 'chunk_data' | 'trailer' | 'close' | 'lost'

const MAX_HEAD = 65_536
const MAX_LINE = 4096
const LINE_FEED = 10

/** Finds the responses of an HTTP/1 connection. What it cannot parse it stops following. */
export class MessageFraming {
  readonly #sink: MessageSink
  #state: State = 'head'
  /** A head that arrived in part. */
  #partial: Buffer | undefined
  /** Bytes of the body or chunk that are still to come. */
  #left = 0
  #line = ''

  constructor(sink: MessageSink) {
    this.#sink = sink
  }

  /** What follows is another protocol, or cannot be parsed. */
  get isLost(): boolean {
    return this.#state === 'lost'
  }

  push(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length && this.#state !== 'lost') at = this.#step(bytes, at)
  }

  /** The connection has ended: a body that extends to that point is complete. */
  finish(): void {
    if (this.#state === 'close') this.#end()
    this.#state = 'lost'
  }

  #step(bytes: Buffer, at: number): number {
    if (this.#state === 'head') return this.#readHead(bytes, at)
    if (this.#state === 'sized' || this.#state === 'chunk_data') return this.#readSized(bytes, at)
    if (this.#state === 'close') {
      this.#sink.bytes(bytes.subarray(at))
      return bytes.length
    }
    return this.#readLine(bytes, at)
  }

  #readHead(bytes: Buffer, at: number): number {
    const before = this.#partial?.length ?? 0
    const all = this.#partial ? Buffer.concat([this.#partial, bytes.subarray(at)]) : bytes
    const start = this.#partial ? 0 : at
    const head = readResponseStart(all, start, Math.min(all.length, start + MAX_HEAD))
    if (head === undefined) {
      if (all.length - start >= MAX_HEAD) this.#state = 'lost'
      else this.#partial = Buffer.from(all.subarray(start))
      return bytes.length
    }
    this.#partial = undefined
    const length = this.#sink.head(head)
    if (length === all.length - head.end) {
      this.#sink.bytes(start === 0 ? all : all.subarray(start))
      this.#end()
      return bytes.length
    }
    this.#sink.bytes(all.subarray(start, head.end))
    this.#begin(length)
    return head.end - start - before + at
  }

  #begin(length: BodyLength): void {
    if (length === 'upgrade') {
      this.#sink.end()
      this.#state = 'lost'
    } else if (length === 'chunked') this.#state = 'chunk'
    else if (length === 'close') this.#state = 'close'
    else if (length === 0) this.#end()
    else [this.#state, this.#left] = ['sized', length]
  }

  #readSized(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#left)
    this.#sink.bytes(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
    this.#left -= end - at
    if (this.#left > 0) return end
    if (this.#state === 'sized') this.#end()
    else this.#state = 'chunk'
    return end
  }

  /** Reads the size of a chunk, or a line of the trailer. */
  #readLine(bytes: Buffer, at: number): number {
    const found = bytes.indexOf(LINE_FEED, at)
    const end = found === -1 ? bytes.length : found + 1
    this.#sink.bytes(bytes.subarray(at, end))
    this.#line += bytes.toString('latin1', at, end)
    if (this.#line.length > MAX_LINE) this.#state = 'lost'
    if (found === -1 || this.#state === 'lost') return end
    const line = this.#line.trim()
    this.#line = ''
    if (this.#state === 'chunk') this.#chunk(line)
    else if (line === '') this.#end()
    return end
  }

  #chunk(line: string): void {
    const size = /^[0-9a-f]{1,12}(?=$|[;\s])/i.exec(line)?.[0]
    if (size === undefined) this.#state = 'lost'
    else if (Number.parseInt(size, 16) === 0) this.#state = 'trailer'
    // The line feed that ends the chunk belongs to it.
    else [this.#state, this.#left] = ['chunk_data', Number.parseInt(size, 16) + 2]
  }

  #end(): void {
    this.#state = 'head'
    this.#sink.end()
  }
}
