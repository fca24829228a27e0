import { END_STREAM, FRAME_HEAD, GOAWAY, RST_STREAM, WINDOW_UPDATE } from '#http2/protocol.ts'
import { BlockPool } from '#tunnel/block-pool.ts'

const BLOCK_BYTES = 65_536
/** Free blocks of the process; more exist only under load. */
const KEPT_BLOCKS = 64
/** Beyond these bytes that wait, content is held back. */
const HIGH_WATER = 131_072
const KEPT_LARGE_BLOCKS = 16

const blocks = new BlockPool(BLOCK_BYTES, KEPT_BLOCKS)
const largeBlocks = new BlockPool(HIGH_WATER, KEPT_LARGE_BLOCKS)

/** What frames are written to; a socket is one. */
export interface FrameSink {
  /** Bytes that wait for the peer. */
  readonly writableLength: number
  /** The bytes must not change until `written` is called. */
  write(bytes: Buffer, written: (error?: Error | null) => void): unknown
  /** Half-closes, after what was written. */
  end(): unknown
}

/** Collects the frames of one turn of the event loop, and writes them at once. */
export class Output {
  readonly #sink: FrameSink
  readonly #drained: () => void
  readonly #flush = (): void => this.#turnEnds()
  #block: Buffer | undefined
  #used = 0
  #isScheduled = false
  #isEnded = false
  #isCongested = false
  /** Where the last frame begins, and whose it is; 0: of none that may still be changed. */
  #lastAt = 0
  #lastStream = 0

  constructor(sink: FrameSink, drained: () => void) {
    this.#sink = sink
    this.#drained = drained
  }

  /** Bytes that wait for the peer. */
  get waiting(): number {
    return this.#sink.writableLength + this.#used
  }

  /** Data should wait until `drained` is called. */
  get isCongested(): boolean {
    if (this.waiting >= HIGH_WATER) this.#isCongested = true
    return this.#isCongested
  }

  /** A frame whose payload is a part of `bytes`, which is copied. */
  frame(type: number, flags: number, stream: number, bytes: Buffer, from: number, to: number): void {
    const at = this.#head(to - from, type, flags, stream)
    bytes.copy(this.#block ?? bytes, at, from, to)
  }

  /** A frame whose payload is a text of latin1 characters. */
  textFrame(type: number, stream: number, text: string): void {
    const at = this.#head(text.length, type, 0, stream)
    this.#block?.write(text, at, 'latin1')
  }

  /** Ends a stream with its last frame, if nothing was added after it; false: it cannot be changed any more. */
  endLast(stream: number): boolean {
    if (this.#lastStream !== stream || this.#block === undefined) return false
    const at = this.#lastAt + 4
    this.#block[at] = (this.#block[at] ?? 0) | END_STREAM
    this.#lastStream = 0
    return true
  }

  /** The last frame stays as it is. */
  seal(): void {
    this.#lastStream = 0
  }

  reset(stream: number, code: number): void {
    this.#word(RST_STREAM, stream, code)
  }

  windowUpdate(stream: number, bytes: number): void {
    this.#word(WINDOW_UPDATE, stream, bytes)
  }

  goaway(lastStream: number, code: number): void {
    const at = this.#head(8, GOAWAY, 0, 0)
    this.#block?.writeUInt32BE(lastStream, at)
    this.#block?.writeUInt32BE(code, at + 4)
  }

  /** Writes what was collected, and half-closes. */
  end(): void {
    this.#write()
    this.#isEnded = true
    this.#sink.end()
  }

  #word(type: number, stream: number, value: number): void {
    const at = this.#head(4, type, 0, stream)
    this.#block?.writeUInt32BE(value, at)
  }

  /** Begins a frame, and returns where its payload goes. */
  #head(size: number, type: number, flags: number, stream: number): number {
    const block = this.#room(FRAME_HEAD + size)
    const at = this.#used
    block[at] = size >> 16
    block[at + 1] = size >> 8
    block[at + 2] = size
    block[at + 3] = type
    block[at + 4] = flags
    block.writeUInt32BE(stream, at + 5)
    this.#used = at + FRAME_HEAD + size
    this.#lastAt = at
    this.#lastStream = stream
    if (!this.#isScheduled) {
      this.#isScheduled = true
      setImmediate(this.#flush)
    }
    return at + FRAME_HEAD
  }

  /** The block, with room for so many bytes. Content gets a larger one before it needs another write. */
  #room(bytes: number): Buffer {
    const block = this.#block
    if (block !== undefined && this.#used + bytes > block.length) {
      if (block.length === BLOCK_BYTES) this.#block = largeBlocks.enlarge(block, this.#used, blocks)
      else this.#write()
    }
    return (this.#block ??= blocks.take())
  }

  #turnEnds(): void {
    this.#isScheduled = false
    this.#write()
  }

  #write(): void {
    const block = this.#block
    if (block === undefined || this.#isEnded) return
    const used = this.#used
    this.#block = undefined
    this.#used = 0
    this.#lastStream = 0
    this.#sink.write(block.subarray(0, used), error => this.#written(block, error))
  }

  #written(block: Buffer, error: Error | null | undefined): void {
    // After an error the sink may still hold the memory.
    if (error) return
    const pool = block.length === BLOCK_BYTES ? blocks : largeBlocks
    pool.release(block)
    if (!this.#isCongested || this.waiting >= HIGH_WATER) return
    this.#isCongested = false
    this.#drained()
  }
}
