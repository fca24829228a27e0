const BLOCK_BYTES = 16_384

/**
 * Bytes buffered for a slow reader. A small slice of a large buffer is copied, or one byte would retain a whole socket
 * read; memory stays within twice the bytes held, plus one block.
 */
export class HeldBytes {
  #pieces: Buffer[] = []
  #tail: Buffer | undefined
  #tailFilled = 0
  length = 0

  /** True: the piece was copied, and may be released. */
  push(piece: Buffer): boolean {
    this.length += piece.length
    if (piece.length * 2 >= piece.buffer.byteLength && piece.length >= BLOCK_BYTES / 2) {
      this.#closeTail()
      this.#pieces.push(piece)
      return false
    }
    for (let at = 0; at < piece.length;) at += this.#append(piece, at)
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
    this.#tail = undefined
    this.#tailFilled = 0
    this.length = 0
  }

  #append(piece: Buffer, at: number): number {
    // The first block is as small as its first piece: most streams buffer a few bytes once.
    this.#tail ??= Buffer.allocUnsafeSlow(
      this.#pieces.length === 0 ? Math.min(BLOCK_BYTES, piece.length - at) : BLOCK_BYTES,
    )
    const copied = piece.copy(this.#tail, this.#tailFilled, at)
    this.#tailFilled += copied
    if (this.#tailFilled === this.#tail.length) this.#closeTail()
    return copied
  }

  #closeTail(): void {
    if (this.#tail !== undefined) this.#pieces.push(this.#tail.subarray(0, this.#tailFilled))
    this.#tail = undefined
    this.#tailFilled = 0
  }
}
