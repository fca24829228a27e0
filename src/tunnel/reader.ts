import { frameTypes, HEADER_BYTES, MAX_ID, TunnelError } from '#tunnel/frame.ts'
import { ownedCopy, sharedCopy, SMALL_BYTES } from '#tunnel/buffer-pool.ts'

/** Receives parsed frames. A DATA frame is `begin`, any number of `piece`, then `finish`. */
interface FrameHandler {
  /** False: the pieces are dropped. */
  begin(id: number, flags: number, length: number): boolean
  piece(bytes: Buffer): void
  finish(): void
  reset(id: number, code: number): void
  window(id: number, increment: number): void
  goaway(lastId: number, code: number, text: string): void
}

const WORD_BYTES = 4
const GOAWAY_FIXED_BYTES = 8
/** A full TLS record: most of it is one body. */
const LARGE_READ = 16_384
// The text is for people; a longer one is truncated.
const GOAWAY_TEXT_BYTES = 1024
const PART_BYTES = GOAWAY_FIXED_BYTES + GOAWAY_TEXT_BYTES

/**
 * Splits socket reads into frames. DATA bodies are streamed, never collected, so the announced length costs no memory.
 * Throws a TunnelError on invalid input.
 */
export class FrameReader {
  readonly #handler: FrameHandler
  // A header, or the body of a control frame, that arrived in several reads. Most sessions never need it, and a slice
  // of the common pool would retain far more than itself.
  #part: Buffer | undefined
  #filled = 0
  // The current control frame: how much of its body is read, its type and its stream.
  #controlBytes = 0
  #controlType = 0
  #controlId = 0
  #dataLeft = 0
  #wanted = false
  #stopped = false

  constructor(handler: FrameHandler) {
    this.#handler = handler
  }

  /** Ignores all further input, including the rest of the current read. */
  stop(): void {
    this.#stopped = true
  }

  /** Reads the first `length` bytes; borrowed bytes are copied before they are passed on. */
  push(read: Buffer, length: number, owned: boolean): void {
    // One copy for many small frames; large bodies are copied one by one, so that each can be released alone.
    const isShared = !owned && length < LARGE_READ && this.#dataLeft <= SMALL_BYTES
    const lasting = owned || isShared
    const bytes = isShared ? sharedCopy(read, 0, length) : read
    let at = 0
    while (at < length && !this.#stopped) {
      if (this.#dataLeft > 0) {
        const end = Math.min(length, at + this.#dataLeft)
        this.#passBody(bytes, at, end, lasting)
        at = end
      } else if (this.#controlBytes > 0) at = this.#collectControl(bytes, at, length)
      else at = this.#collectHeader(bytes, at, length)
    }
  }

  #passBody(bytes: Buffer, at: number, end: number, owned: boolean): void {
    this.#dataLeft -= end - at
    if (!this.#wanted) return
    this.#handler.piece(owned ? bytes.subarray(at, end) : ownedCopy(bytes, at, end))
    if (this.#dataLeft === 0) this.#handler.finish()
  }

  #collectHeader(bytes: Buffer, at: number, length: number): number {
    if (this.#filled === 0 && length - at >= HEADER_BYTES) {
      this.#startFrame(bytes, at)
      return at + HEADER_BYTES
    }
    const end = Math.min(length, at + HEADER_BYTES - this.#filled)
    const part = this.#fill(bytes, at, end)
    if (this.#filled === HEADER_BYTES) {
      this.#filled = 0
      this.#startFrame(part, 0)
    }
    return end
  }

  #startFrame(header: Buffer, at: number): void {
    const length = header.readUIntBE(at, 3)
    const kind = header.readUInt8(at + 3)
    const id = header.readUInt32BE(at + 4)
    const type = kind >>> 4
    if (type === frameTypes.goaway) {
      // One agent family omits the fixed part from the length, so any length is accepted.
      if (length < GOAWAY_FIXED_BYTES) this.#leave(0, 0, '')
      else this.#expectControl(type, id, Math.min(length, PART_BYTES))
      return
    }
    if (id === 0 || id > MAX_ID) throw new TunnelError('protocol', `No stream can have the id ${id}.`)
    if (type === frameTypes.data) {
      this.#dataLeft = length
      this.#wanted = this.#handler.begin(id, kind & 0xf, length)
      if (length === 0 && this.#wanted) this.#handler.finish()
      return
    }
    if (type > frameTypes.goaway) throw new TunnelError('protocol', `There is no frame type ${type}.`)
    if (length !== WORD_BYTES)
      throw new TunnelError('frame_size', `A frame of type ${type} has a body of 4 bytes, not ${length}.`)
    this.#expectControl(type, id, length)
  }

  #expectControl(type: number, id: number, bytes: number): void {
    this.#controlType = type
    this.#controlId = id
    this.#controlBytes = bytes
  }

  #collectControl(bytes: Buffer, at: number, length: number): number {
    const size = this.#controlBytes
    if (this.#filled === 0 && length - at >= size) {
      this.#controlBytes = 0
      this.#finishControl(bytes, at, at + size)
      return at + size
    }
    const end = Math.min(length, at + size - this.#filled)
    const part = this.#fill(bytes, at, end)
    if (this.#filled === size) {
      this.#filled = 0
      this.#controlBytes = 0
      this.#finishControl(part, 0, size)
    }
    return end
  }

  #finishControl(body: Buffer, at: number, end: number): void {
    const word = body.readUInt32BE(at)
    const type = this.#controlType
    if (type === frameTypes.rst) this.#handler.reset(this.#controlId, word)
    else if (type === frameTypes.wndinc) this.#handler.window(this.#controlId, word & MAX_ID)
    else
      this.#leave(
        word,
        body.readUInt32BE(at + WORD_BYTES),
        body.toString('utf8', at + GOAWAY_FIXED_BYTES, end),
      )
  }

  #leave(lastId: number, code: number, text: string): void {
    // Agents of both families misframe what follows a GOAWAY.
    this.#stopped = true
    this.#handler.goaway(lastId, code, text)
  }

  #fill(bytes: Buffer, at: number, end: number): Buffer {
    this.#part ??= Buffer.allocUnsafeSlow(PART_BYTES)
    this.#filled += bytes.copy(this.#part, this.#filled, at, end)
    return this.#part
  }
}
