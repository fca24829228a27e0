import { frameTypes, HEADER_BYTES, type Header, MAX_ID, readHeader, TunnelError } from '#tunnel/frame.ts'

/** What a parsed frame leads to. A DATA frame is `begin`, any number of `piece`, then `finish`. */
export interface FrameHandler {
  begin(header: Header): void
  piece(bytes: Buffer): void
  finish(): void
  reset(id: number, code: number): void
  window(id: number, increment: number): void
  goaway(lastId: number, code: number, text: string): void
}

const WORD_BYTES = 4
const GOAWAY_FIXED_BYTES = 8
// The text is for people; a longer one is cut rather than collected.
const GOAWAY_TEXT_BYTES = 1024

/**
 * Cuts socket chunks into frames. Bodies of DATA are passed on as views of the chunk, never collected, so the
 * announced length costs no memory. Throws a TunnelError on input no peer may send.
 */
export class FrameReader {
  readonly #handler: FrameHandler
  // Holds a header, or the body of a control frame, that arrived in several chunks.
  readonly #part = Buffer.allocUnsafe(GOAWAY_FIXED_BYTES + GOAWAY_TEXT_BYTES)
  #filled = 0
  #control: Header | undefined
  #dataLeft = 0
  #stopped = false

  constructor(handler: FrameHandler) {
    this.#handler = handler
  }

  /** Ignores everything from here on, also the rest of a chunk being read. */
  stop(): void {
    this.#stopped = true
  }

  push(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length && !this.#stopped) {
      if (this.#dataLeft > 0) at = this.#passBody(chunk, at)
      else if (this.#control !== undefined) at = this.#collectControl(chunk, at, this.#control)
      else at = this.#collectHeader(chunk, at)
    }
  }

  #passBody(chunk: Buffer, at: number): number {
    const end = Math.min(chunk.length, at + this.#dataLeft)
    this.#dataLeft -= end - at
    this.#handler.piece(chunk.subarray(at, end))
    if (this.#dataLeft === 0) this.#handler.finish()
    return end
  }

  #collectHeader(chunk: Buffer, at: number): number {
    if (this.#filled === 0 && chunk.length - at >= HEADER_BYTES) {
      this.#startFrame(readHeader(chunk, at))
      return at + HEADER_BYTES
    }
    const end = this.#fill(chunk, at, HEADER_BYTES)
    if (this.#filled === HEADER_BYTES) {
      this.#filled = 0
      this.#startFrame(readHeader(this.#part, 0))
    }
    return end
  }

  #startFrame(header: Header): void {
    const { type, id, length } = header
    if (type === frameTypes.goaway) {
      // One agent family leaves the fixed part out of the length, so any length has to be taken.
      if (length < GOAWAY_FIXED_BYTES) this.#leave(0, 0, '')
      else this.#control = header
      return
    }
    if (id === 0 || id > MAX_ID) throw new TunnelError('protocol', `No stream can have the id ${id}.`)
    if (type === frameTypes.data) {
      this.#dataLeft = length
      this.#handler.begin(header)
      if (length === 0) this.#handler.finish()
      return
    }
    if (type > frameTypes.goaway) throw new TunnelError('protocol', `There is no frame type ${type}.`)
    if (length !== WORD_BYTES)
      throw new TunnelError('frame_size', `A frame of type ${type} has a body of 4 bytes, not ${length}.`)
    this.#control = header
  }

  #collectControl(chunk: Buffer, at: number, header: Header): number {
    const size = Math.min(header.length, this.#part.length)
    const whole = this.#filled === 0 && chunk.length - at >= size
    const end = whole ? at + size : this.#fill(chunk, at, size)
    if (!whole && this.#filled < size) return end
    const body = whole ? chunk.subarray(at, end) : this.#part.subarray(0, size)
    this.#filled = 0
    this.#control = undefined
    this.#finishControl(header, body)
    return end
  }

  #finishControl({ type, id }: Header, body: Buffer): void {
    const word = body.readUInt32BE(0)
    if (type === frameTypes.rst) this.#handler.reset(id, word)
    else if (type === frameTypes.wndinc) this.#handler.window(id, word & MAX_ID)
    else this.#leave(word, body.readUInt32BE(WORD_BYTES), body.toString('utf8', GOAWAY_FIXED_BYTES))
  }

  #leave(lastId: number, code: number, text: string): void {
    // Agents of both families misframe what follows a GOAWAY.
    this.#stopped = true
    this.#handler.goaway(lastId, code, text)
  }

  #fill(chunk: Buffer, at: number, size: number): number {
    const end = Math.min(chunk.length, at + size - this.#filled)
    this.#filled += chunk.copy(this.#part, this.#filled, at, end)
    return end
  }
}
