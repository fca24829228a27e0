/** Blocks of memory for what is written in one turn of the event loop. Only under load there are more than are kept. */
export class BlockPool {
  /** The length of a block. */
  readonly bytes: number
  readonly #kept: number
  readonly #free: Buffer[] = []

  constructor(bytes: number, kept: number) {
    this.bytes = bytes
    this.#kept = kept
  }

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.bytes)
  }

  /** A larger block with the first bytes of `block`, which is returned to its own pool. */
  enlarge(block: Buffer, filled: number, from: BlockPool): Buffer {
    const larger = this.take()
    block.copy(larger, 0, 0, filled)
    from.release(block)
    return larger
  }

  release(block: Buffer): void {
    if (this.#free.length < this.#kept) this.#free.push(block)
  }
}
