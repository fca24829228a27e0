import {
  ConnectionFault,
  DATA,
  DEFAULT_FRAME_SIZE,
  FRAME_HEAD,
  FRAME_SIZE_ERROR,
  PADDED,
  PREFACE,
  PROTOCOL_ERROR,
  SETTINGS,
} from '#http2/protocol.ts'

/** Gets the frames of a connection. Bytes are valid only during the call. */
export interface FrameReceiver {
  /**
   * A part of the content of a DATA frame; `flow` are the bytes it counts for flow control, and `flags` those of the
   * frame with its last part, else 0. `isEmpty`: the frame has no content.
   */
  data(part: DataPart, bytes: Buffer, from: number, to: number): void
  /** Any other frame, or a part of one: its payload. */
  frame(head: FrameHead, bytes: Buffer, from: number, to: number): void
}

export interface FrameHead {
  readonly type: number
  readonly flags: number
  readonly stream: number
}

export interface DataPart {
  readonly stream: number
  readonly flags: number
  readonly flow: number
  readonly isEmpty: boolean
}

/** Finds the frames in what is read from a connection. DATA is passed on as it arrives, other frames when complete. */
export class Http2FrameReader {
  readonly #receiver: FrameReceiver
  /** Bytes of the preface that have not arrived; a server sends none. */
  #prefaceLeft: number
  #isFirst = true
  /** A frame, or only its head, of which a part has arrived. */
  #partial: Buffer | undefined
  #filled = 0
  /** Of the current DATA frame. */
  #dataLeft = 0
  #dataStream = 0
  #dataFlags = 0

  constructor(receiver: FrameReceiver, from: 'client' | 'server') {
    this.#receiver = receiver
    this.#prefaceLeft = from === 'client' ? PREFACE.length : 0
  }

  /** Throws `ConnectionFault` for what is not a frame; afterwards nothing may be read. */
  read(bytes: Buffer, length: number): void {
    let at = this.#prefaceLeft > 0 ? this.#preface(bytes, length) : 0
    while (at < length) {
      if (this.#dataLeft > 0) at = this.#data(bytes, at, length)
      else if (this.#partial !== undefined) at = this.#complete(this.#partial, bytes, at, length)
      else if (length - at < FRAME_HEAD) at = this.#keep(FRAME_HEAD, bytes, at, length)
      else at = this.#next(bytes, at, length)
    }
  }

  #preface(bytes: Buffer, length: number): number {
    const count = Math.min(this.#prefaceLeft, length)
    const from = PREFACE.length - this.#prefaceLeft
    if (bytes.compare(PREFACE, from, from + count, 0, count) !== 0)
      throw new ConnectionFault(PROTOCOL_ERROR, 'the connection does not begin with the preface')
    this.#prefaceLeft -= count
    return count
  }

  /** A frame whose head is complete. */
  #next(bytes: Buffer, at: number, length: number): number {
    const size = sizeOf(bytes, at)
    const type = bytes[at + 3] ?? 0
    const flags = bytes[at + 4] ?? 0
    const body = at + FRAME_HEAD
    this.#check(type, size)
    const stream = streamOf(bytes, at)
    if (type === DATA && (flags & PADDED) === 0) {
      this.#beginData(stream, flags, size)
      return body
    }
    if (body + size > length) return this.#keep(FRAME_HEAD + size, bytes, at, length)
    this.#pass({ type, flags, stream }, bytes, body, body + size)
    return body + size
  }

  #check(type: number, size: number): void {
    if (size > DEFAULT_FRAME_SIZE) throw new ConnectionFault(FRAME_SIZE_ERROR, 'a frame is too large')
    if (!this.#isFirst) return
    this.#isFirst = false
    if (type !== SETTINGS) throw new ConnectionFault(PROTOCOL_ERROR, 'the first frame is not SETTINGS')
  }

  #beginData(stream: number, flags: number, size: number): void {
    this.#dataStream = stream
    this.#dataFlags = flags
    this.#dataLeft = size
    if (size === 0) this.#receiver.data({ stream, flags, flow: 0, isEmpty: true }, EMPTY, 0, 0)
  }

  #data(bytes: Buffer, at: number, length: number): number {
    const count = Math.min(this.#dataLeft, length - at)
    this.#dataLeft -= count
    const flags = this.#dataLeft === 0 ? this.#dataFlags : 0
    const part = { stream: this.#dataStream, flags, flow: count, isEmpty: false }
    this.#receiver.data(part, bytes, at, at + count)
    return at + count
  }

  #pass(head: FrameHead, bytes: Buffer, from: number, to: number): void {
    if (head.type === DATA) this.#padded(head, bytes, from, to)
    else this.#receiver.frame(head, bytes, from, to)
  }

  #padded({ stream, flags }: FrameHead, bytes: Buffer, from: number, to: number): void {
    const end = withoutPadding(bytes, from, to)
    const part = { stream, flags, flow: to - from, isEmpty: end === from + 1 }
    this.#receiver.data(part, bytes, from + 1, end)
  }

  #keep(size: number, bytes: Buffer, at: number, length: number): number {
    this.#partial = Buffer.allocUnsafe(size)
    bytes.copy(this.#partial, 0, at, length)
    this.#filled = length - at
    return length
  }

  #complete(partial: Buffer, bytes: Buffer, at: number, length: number): number {
    const count = Math.min(partial.length - this.#filled, length - at)
    bytes.copy(partial, this.#filled, at, at + count)
    this.#filled += count
    if (this.#filled === partial.length) this.#completed(partial)
    return at + count
  }

  /** A head may now be complete, or a whole frame. */
  #completed(partial: Buffer): void {
    this.#partial = undefined
    this.#filled = 0
    if (partial.length === FRAME_HEAD) this.#next(partial, 0, FRAME_HEAD)
    else this.#pass(headOf(partial), partial, FRAME_HEAD, partial.length)
  }
}

const EMPTY = Buffer.alloc(0)

const sizeOf = (bytes: Buffer, at: number): number =>
  ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0)

const streamOf = (bytes: Buffer, at: number): number => bytes.readUInt32BE(at + 5) & 0x7fff_ffff

const headOf = (bytes: Buffer): FrameHead => ({
  type: bytes[3] ?? 0,
  flags: bytes[4] ?? 0,
  stream: streamOf(bytes, 0),
})

/** The end of the content of a padded frame, whose first byte is the length of the padding. */
export function withoutPadding(bytes: Buffer, from: number, to: number): number {
  const end = to - (bytes[from] ?? 0)
  if (from >= to || end < from + 1)
    throw new ConnectionFault(PROTOCOL_ERROR, 'the padding is longer than its frame')
  return end
}
