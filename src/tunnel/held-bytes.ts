import { copyAlone, ReadBuffer } from '#tunnel/buffer-pool.ts'

const BLOCK_BYTES = 16_384

/**
 * Bytes buffered for a slow reader. A small slice of a large buffer is copied, or one byte would retain a whole socket
 * read; memory stays within twice the bytes held, plus one block.
 */
export class HeldBytes {
  #pieces: Buffer[] = []
  readonly #tail = new ReadBuffer(BLOCK_BYTES)
  length = 0

  /** True: the piece was copied, and may be released. */
  push(piece: Buffer): boolean {
    if (piece.length === 0) return true
    const memory = piece.buffer.byteLength
    const isFirst = this.length === 0
    this.length += piece.length
    if (
      (piece.length * 2 >= memory && piece.length >= BLOCK_BYTES / 2) ||
      (isFirst && memory <= BLOCK_BYTES)
    ) {
      this.#closeTail()
      this.#pieces.push(piece)
      return false
    }
    // Most streams buffer a few bytes once, for which a block would be too much.
    if (isFirst) this.#pieces.push(copyAlone(piece))
    else this.#append(piece)
    return true
  }

  /** Puts bytes back in front of all others. */
  unshift(piece: Buffer): void {
    this.length += piece.length
    this.#pieces.unshift(piece)
  }

  shift(): Buffer | undefined {
    if (this.#pieces.length === 0) this.#closeTail()
    const piece = this.#pieces.shift()
    if (piece !== undefined) this.length -= piece.length
    return piece
  }

  /** Removes exactly `count` bytes, which must be there. */
  take(count: number): Buffer {
    const parts: Buffer[] = []
    for (let left = count; left > 0;) {
      const piece = this.shift()
      if (piece === undefined) throw new RangeError(`Fewer than ${count} bytes are held.`)
      parts.push(piece.subarray(0, left))
      if (piece.length > left) this.unshift(piece.subarray(left))
      left -= Math.min(left, piece.length)
    }
    return Buffer.concat(parts, count)
  }

  clear(): void {
    this.#pieces = []
    this.#tail.take()
    this.length = 0
  }

  #append(piece: Buffer): void {
    for (let at = 0; at < piece.length;) {
      const end = Math.min(piece.length, at + this.#tail.room)
      this.#tail.add(piece, at, end)
      at = end
      if (this.#tail.room === 0) this.#closeTail()
    }
  }

  #closeTail(): void {
    if (this.#tail.length > 0) this.#pieces.push(this.#tail.take())
  }
}
