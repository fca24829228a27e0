import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import {
  encodeGoaway,
  frameTypes,
  HEADER_BYTES,
  MAX_FRAME,
  putHeader,
  putWord,
  type TunnelErrorCode,
} from '#tunnel/frame.ts'
import { BlockPool } from '#tunnel/block-pool.ts'
import { release } from '#tunnel/buffer-pool.ts'
import { DrainRate, MOST_WAITING } from '#tunnel/drain-rate.ts'

const WORD_BYTES = 4
const DATA = frameTypes.data << 4
// Below this, copying into the slab is cheaper than one more entry in the vectored write.
const COPIED_BYTES = 16_384
export const TEXT_BYTES = COPIED_BYTES
const PROMPT_BYTES = 4096
// So many frames of a turn leave before it ends: the peer works on them while the others are collected.
const FIRST_PART = 24
const EMPTY = Buffer.alloc(0)

// Most sessions send only a heartbeat, and many may do so in one turn.
const smallSlabs = new BlockPool(4096, 4096)
const usualSlabs = new BlockPool(65_536, 256)
// For a turn with large bodies: it holds what usually leaves at once.
const largeSlabs = new BlockPool(MOST_WAITING + MAX_FRAME, 16)

/** The slabs that have room for so many bytes, if any has. */
function slabsFor(bytes: number): BlockPool {
  if (bytes <= smallSlabs.bytes) return smallSlabs
  return bytes <= usualSlabs.bytes ? usualSlabs : largeSlabs
}

/**
 * Collects the frames of one turn of the event loop and writes them at once, those of a busy turn in two parts: Node's
 * TLS takes no third write before the turn ends. Small bodies are copied, large ones passed by reference: the caller must
 * not change them afterwards. Node's TLS copies whatever is more than one piece, so for it all bodies are copied here,
 * where their memory is free for the next read at once.
 */
export class FrameWriter {
  readonly #socket: Duplex
  readonly #beforeFlush: () => void
  readonly #flushed: () => void
  // A socket is done with memory it has written; another stream may have passed it on to a reader that keeps it.
  readonly #reuses: boolean
  readonly #encrypted: boolean
  readonly #rate = new DrainRate()
  readonly #turnEnds = (): void => {
    this.#scheduled = false
    // What is added from here on is written in this moment anyway.
    this.#framesInTurn = FIRST_PART
    this.#beforeFlush()
    this.#framesInTurn = 0
    this.#write()
  }
  #pieces: Buffer[] = []
  #slabs: Buffer[] = []
  #spent: Buffer[] = []
  #slab: Buffer | undefined
  #sealed = 0
  #filled = 0
  #pending = 0
  /** The bytes of the turn before: a busy session continues with a large slab. */
  #turnBefore = 0
  #scheduled = false
  #framesInTurn = 0

  /** `beforeFlush` may still add frames of this turn; `flushed` is called when the socket took its data. */
  constructor(socket: Duplex, beforeFlush: () => void, flushed: () => void) {
    this.#socket = socket
    this.#beforeFlush = beforeFlush
    this.#flushed = flushed
    this.#reuses = socket instanceof Socket
    this.#encrypted = socket instanceof TLSSocket
  }

  get full(): boolean {
    return this.#waiting >= this.#rate.waiting
  }

  /**
   * Whether a frame of this size has to wait; a small one need not, or it would wait behind a frame of every stream.
   */
  fullFor(bytes: number): boolean {
    return this.#waiting >= (bytes <= PROMPT_BYTES ? 2 * this.#rate.waiting : this.#rate.waiting)
  }

  get #waiting(): number {
    return this.#pending + this.#socket.writableLength
  }

  /**
   * The largest frame for each of so many streams: a frame of every one fits into what may wait for the socket, so that
   * each has its turn soon, also on a slow link.
   */
  shareOf(streams: number): number {
    return Math.min(MAX_FRAME, Math.max(PROMPT_BYTES, Math.floor(this.#rate.waiting / streams)))
  }

  /** Whether frames of this turn wait to be written. */
  get idle(): boolean {
    return this.#pending === 0
  }

  /** `spent` bodies are released as soon as they are sent. */
  data(id: number, flags: number, body: Buffer, spent: boolean): void {
    const length = body.length
    const copied = length <= COPIED_BYTES || this.#encrypted
    const slab = this.#reserve(HEADER_BYTES + (copied ? length : 0))
    putHeader(slab, this.#filled, length, DATA | flags, id)
    this.#filled += HEADER_BYTES
    if (copied) {
      body.copy(slab, this.#filled)
      this.#filled += length
      if (spent) release(body)
      this.#mayBegin()
      return
    }
    this.#seal()
    this.#pieces.push(body)
    this.#pending += length
    if (spent) this.#spent.push(body)
  }

  /** Latin-1 text, at most `TEXT_BYTES` of it: it is written to the slab without a buffer of its own. */
  text(id: number, flags: number, text: string): void {
    const slab = this.#reserve(HEADER_BYTES + text.length)
    putHeader(slab, this.#filled, text.length, DATA | flags, id)
    this.#filled += HEADER_BYTES
    this.#filled += slab.write(text, this.#filled, 'latin1')
    this.#mayBegin()
  }

  reset(id: number, code: number): void {
    this.#word(frameTypes.rst, id, code)
  }

  window(id: number, increment: number): void {
    this.#word(frameTypes.wndinc, id, increment)
  }

  /** Writes the collected frames, then GOAWAY, then ends the socket: nothing may follow that frame. */
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
    setImmediate(this.#turnEnds)
  }

  /** Writes the first part of a turn, unless it would only wait behind the turn before. */
  #mayBegin(): void {
    if (++this.#framesInTurn === FIRST_PART && this.#socket.writableLength === 0) this.#write()
  }

  #word(type: number, id: number, value: number): void {
    const slab = this.#reserve(HEADER_BYTES + WORD_BYTES)
    putHeader(slab, this.#filled, WORD_BYTES, type << 4, id)
    putWord(slab, this.#filled + HEADER_BYTES, value)
    this.#filled += HEADER_BYTES + WORD_BYTES
  }

  /** The slab with so many free bytes after the filled ones, which are now filled. */
  #reserve(bytes: number): Buffer {
    if (this.#slab !== undefined && this.#filled + bytes > this.#slab.length) this.#continue(bytes)
    this.#slab ??= this.#slabsFor(Math.max(this.#pending + bytes, this.#turnBefore)).take()
    this.#pending += bytes
    this.schedule()
    return this.#slab
  }

  /** The frames of a turn are one piece for TLS; otherwise another slab is another piece. */
  #continue(bytes: number): void {
    const slab = this.#slab
    if (slab !== undefined && this.#encrypted && slab.length < largeSlabs.bytes)
      this.#slab = slabsFor(this.#filled + bytes).enlarge(slab, this.#filled, slabsFor(slab.length))
    else this.#retireSlab()
  }

  #slabsFor(bytes: number): BlockPool {
    return slabsFor(this.#encrypted ? bytes : Math.min(bytes, usualSlabs.bytes))
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
    // A slab that cannot be reused is filled to its end, over several turns.
    if (this.#reuses) this.#retireSlab()
    else this.#seal()
    const pieces = this.#pieces
    if (pieces.length === 0) return
    this.#turnBefore = this.#pending
    this.#pending = 0
    if (this.#socket.destroyed || this.#socket.writableEnded) {
      this.#pieces = []
      this.#slabs = []
      this.#spent = []
    } else if (this.#encrypted || !this.#reuses) {
      this.#writeAll(this.#whenWritten())
    } else {
      this.#writeAll()
      // Mostly the kernel has taken all by now, and a callback would cost more than the rest of a small write.
      if (this.#socket.writableLength > 0) this.#socket.write(EMPTY, this.#whenWritten())
      else this.#written(this.#slabs, this.#spent, this.#turnBefore)
    }
  }

  #writeAll(done?: (error?: Error | null) => void): void {
    const pieces = this.#pieces
    const last = pieces.length - 1
    if (last > 0) this.#socket.cork()
    for (let index = 0; index < last; index++) this.#socket.write(pieces[index])
    this.#socket.write(pieces[last], done)
    if (last > 0) this.#socket.uncork()
    pieces.length = 0
  }

  #whenWritten(): (error?: Error | null) => void {
    const slabs = this.#slabs
    const spent = this.#spent
    const bytes = this.#turnBefore
    this.#slabs = []
    this.#spent = []
    // After an error the socket may still hold the memory; only written memory is reused.
    return error => {
      if (!error) this.#written(slabs, spent, bytes)
    }
  }

  #written(slabs: Buffer[], spent: Buffer[], taken: number): void {
    this.#rate.took(taken)
    if (this.#reuses) {
      for (const slab of slabs) slabsFor(slab.length).release(slab)
      for (const bytes of spent) release(bytes)
    }
    slabs.length = 0
    spent.length = 0
    this.#flushed()
  }
}
