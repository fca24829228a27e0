import type { Duplex } from 'node:stream'
import {
  encodeGoaway,
  frameTypes,
  HEADER_BYTES,
  putHeader,
  putWord,
  type TunnelErrorCode,
} from '#tunnel/frame.ts'

const SLAB_BYTES = 65_536
const KEPT_SLABS = 256
// Below this, copying into the slab is cheaper than one more entry in the vectored write.
const COPIED_BYTES = 16_384
/** Streams keep their bytes while this much waits for the socket, so that a late small frame is not far behind. */
const HIGH_WATER = 524_288

const free: Buffer[] = []
const takeSlab = (): Buffer => free.pop() ?? Buffer.allocUnsafeSlow(SLAB_BYTES)
const giveBack = (slab: Buffer): void => {
  if (free.length < KEPT_SLABS) free.push(slab)
}

/**
 * Collects the frames of one turn of the event loop and writes them at once. Small bodies are copied, large ones
 * go by reference: whoever passes one must not change it afterwards.
 */
export class FrameWriter {
  readonly #socket: Duplex
  readonly #beforeFlush: () => void
  readonly #flushed: () => void
  #pieces: Buffer[] = []
  #slabs: Buffer[] = []
  #slab: Buffer | undefined
  #sealed = 0
  #filled = 0
  #pending = 0
  #scheduled = false

  /** `beforeFlush` may still add frames of this turn; `flushed` is called when the socket took what it was given. */
  constructor(socket: Duplex, beforeFlush: () => void, flushed: () => void) {
    this.#socket = socket
    this.#beforeFlush = beforeFlush
    this.#flushed = flushed
  }

  get full(): boolean {
    return this.#pending + this.#socket.writableLength >= HIGH_WATER
  }

  /** Whether frames of this turn wait to be written. */
  get idle(): boolean {
    return this.#pending === 0
  }

  data(id: number, flags: number, body: Uint8Array): void {
    const copied = body.length <= COPIED_BYTES
    const at = this.#reserve(HEADER_BYTES + (copied ? body.length : 0))
    putHeader(at.slab, at.start, { length: body.length, type: frameTypes.data, flags, id })
    if (copied) {
      at.slab.set(body, at.start + HEADER_BYTES)
      return
    }
    this.#seal()
    this.#pieces.push(Buffer.from(body.buffer, body.byteOffset, body.length))
    this.#pending += body.length
  }

  reset(id: number, code: number): void {
    this.#word(frameTypes.rst, id, code)
  }

  window(id: number, increment: number): void {
    this.#word(frameTypes.wndinc, id, increment)
  }

  /** Writes what is collected, then GOAWAY, then ends the socket: nothing may follow that frame. */
  leave(lastId: number, code: TunnelErrorCode, text: string): void {
    this.#seal()
    const frame = encodeGoaway(lastId, code, text)
    this.#pieces.push(frame)
    this.#pending += frame.length
    this.#write()
    this.#socket.end()
  }

  schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#beforeFlush()
      this.#write()
    })
  }

  #word(type: number, id: number, value: number): void {
    const { slab, start } = this.#reserve(HEADER_BYTES + 4)
    putHeader(slab, start, { length: 4, type, flags: 0, id })
    putWord(slab, start + HEADER_BYTES, value)
  }

  #reserve(bytes: number): { slab: Buffer; start: number } {
    if (this.#slab !== undefined && this.#filled + bytes > SLAB_BYTES) this.#retireSlab()
    this.#slab ??= takeSlab()
    const start = this.#filled
    this.#filled += bytes
    this.#pending += bytes
    this.schedule()
    return { slab: this.#slab, start }
  }

  #seal(): void {
    if (this.#slab === undefined || this.#filled === this.#sealed) return
    this.#pieces.push(this.#slab.subarray(this.#sealed, this.#filled))
    this.#sealed = this.#filled
  }

  #retireSlab(): void {
    this.#seal()
    if (this.#slab !== undefined) this.#slabs.push(this.#slab)
    this.#slab = undefined
    this.#sealed = this.#filled = 0
  }

  #write(): void {
    this.#retireSlab()
    const pieces = this.#pieces
    const slabs = this.#slabs
    this.#pieces = []
    this.#slabs = []
    this.#pending = 0
    if (pieces.length === 0 || this.#socket.destroyed || this.#socket.writableEnded) return
    const last = pieces.length - 1
    this.#socket.cork()
    for (let index = 0; index < last; index++) this.#socket.write(pieces[index])
    this.#socket.write(pieces[last], error => {
      // After an error the socket may still hold the memory; only what was written is used again.
      if (error) return
      slabs.forEach(giveBack)
      this.#flushed()
    })
    this.#socket.uncork()
  }
}
