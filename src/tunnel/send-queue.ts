import { FIN, INITIAL_WINDOW, MAX_FRAME, MAX_ID, TunnelError } from '#tunnel/frame.ts'
import { type FrameWriter, TEXT_BYTES } from '#tunnel/writer.ts'

const EMPTY = Buffer.alloc(0)

interface QueuedChunk {
  readonly bytes: Buffer
  readonly transferOwnership: boolean
}

/** Our direction of a stream: what waits for the peer's credit or for the socket, and whether FIN was sent. */
export class SendQueue {
  readonly #id: number
  readonly #writer: FrameWriter
  #window = INITIAL_WINDOW
  #queue: QueuedChunk[] = []
  #ending = false
  #finished = false

  constructor(id: number, writer: FrameWriter) {
    this.#id = id
    this.#writer = writer
  }

  /** FIN was sent. */
  get finished(): boolean {
    return this.#finished
  }

  /** Unsent bytes that the peer has given credit for. */
  get sendable(): boolean {
    return this.#queue.length > 0 && this.#window > 0
  }

  /** Sends the first frame of a stream, which has at least its type and header. */
  start(bytes: Buffer, flags: number): void {
    const first = bytes.subarray(0, MAX_FRAME)
    this.#frame(first, flags, false)
    if (first.length < bytes.length) this.write(bytes.subarray(first.length), false)
  }

  /** True: all of it is sent. */
  write(bytes: Buffer, transferOwnership: boolean): boolean {
    if (this.#ending)
      throw new TunnelError('stream_closed', 'Bytes were written after the end of the stream.')
    this.#sendOrKeep(bytes, 0, transferOwnership)
    return this.#queue.length === 0
  }

  /** Sends Latin-1 text at once, if possible; false: it was not sent. */
  sendText(text: string): boolean {
    const { length } = text
    const fits = length <= this.#window && length <= TEXT_BYTES && this.#queue.length === 0
    if (!fits || this.#ending || this.#writer.fullFor(length)) return false
    this.#window -= length
    this.#writer.text(this.#id, 0, text)
    return true
  }

  end(bytes: Buffer): void {
    if (this.#ending) return
    this.#ending = true
    this.#sendOrKeep(bytes, FIN, false)
  }

  /** Drops what waits and finishes at once; FIN needs no credit. */
  cut(): void {
    this.#queue = []
    this.#ending = true
    if (!this.#finished) this.#frame(EMPTY, FIN, false)
  }

  clear(): void {
    this.#queue = []
  }

  /** False: the peer gave more credit than a window can have. */
  allow(increment: number): boolean {
    this.#window += increment
    return this.#window <= MAX_ID
  }

  /** Sends one frame of at most so many bytes; true when it was the last of a stream that continues. */
  pump(most: number): boolean {
    const first = this.#queue[0]
    if (first === undefined || this.#window === 0) return false
    const { bytes, transferOwnership: spent } = first
    const size = Math.min(bytes.length, this.#window, most)
    if (size < bytes.length) this.#queue[0] = { bytes: bytes.subarray(size), transferOwnership: spent }
    else this.#queue.shift()
    const done = this.#queue.length === 0
    this.#frame(bytes.subarray(0, size), done && this.#ending ? FIN : 0, spent)
    return done && !this.#ending
  }

  /** Sets `flags` on the last frame; for buffered data `pump` does. */
  #sendOrKeep(bytes: Buffer, flags: number, transferOwnership: boolean): void {
    const behind = this.#queue.length > 0
    const sends = !behind && !this.#writer.fullFor(bytes.length)
    const most = this.#writer.shareOf(1)
    if (sends && bytes.length <= most && bytes.length <= this.#window) {
      if (bytes.length > 0 || flags === FIN) this.#frame(bytes, flags, transferOwnership)
      return
    }
    let at = 0
    while (at < bytes.length && sends && this.#window > 0 && !this.#writer.full) {
      const size = Math.min(bytes.length - at, this.#window, most)
      this.#frame(bytes.subarray(at, at + size), at + size === bytes.length ? flags : 0, transferOwnership)
      at += size
    }
    if (at < bytes.length) this.#queue.push({ bytes: bytes.subarray(at), transferOwnership })
    else if (flags === FIN && bytes.length === 0 && !behind) this.#frame(EMPTY, FIN, false)
  }

  #frame(body: Buffer, flags: number, transferOwnership: boolean): void {
    this.#window -= body.length
    this.#finished ||= flags === FIN
    this.#writer.data(this.#id, flags, body, transferOwnership)
  }
}
