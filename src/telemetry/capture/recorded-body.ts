const NOTHING = Buffer.alloc(0)
const FIRST_BYTES = 512
/** The overhead of a buffer besides its bytes. */
const BUFFER_BYTES = 192

/** The beginning of a body, in one buffer that grows: many small pieces would need far more memory than their bytes. */
export class RecordedBody {
  #buffer: Buffer = NOTHING
  /** A body that was in memory as a text in latin1; to keep it costs less than a copy. */
  #text = ''
  #kept = 0
  #size = 0
  #hasEnded = false

  /** Bytes that passed, kept or not. */
  get size(): number {
    return this.#size
  }

  /** Memory that it holds. */
  get held(): number {
    return this.#text.length + (this.#buffer === NOTHING ? 0 : this.#buffer.length + BUFFER_BYTES)
  }

  /** All of it has passed and is kept. */
  get isWhole(): boolean {
    return this.#hasEnded && this.#kept === this.#size
  }

  get bytes(): Buffer {
    return this.#text === '' ? this.#buffer.subarray(0, this.#kept) : Buffer.from(this.#text, 'latin1')
  }

  /** A body that has arrived at once. */
  addText(text: string, limit: number): void {
    this.#text = text.length > limit ? text.slice(0, limit) : text
    this.#kept = this.#text.length
    this.#size = text.length
    this.#hasEnded = true
  }

  /** Copies as much as may be kept. */
  add(bytes: Buffer, limit: number): void {
    const room = Math.min(bytes.length, limit - this.#kept)
    this.#size += bytes.length
    if (room <= 0) return
    this.#reserve(this.#kept + room, limit)
    bytes.copy(this.#buffer, this.#kept, 0, room)
    this.#kept += room
  }

  /** As it was before a restart. */
  restore(bytes: Buffer, { size, isWhole }: Pick<RecordedBody, 'size' | 'isWhole'>): void {
    this.clear()
    this.add(bytes, bytes.length)
    this.#size = size
    this.#hasEnded = isWhole
  }

  end(): void {
    this.#hasEnded = true
  }

  /** Forgets the bytes, and what was counted. */
  clear(): void {
    this.#buffer = NOTHING
    this.#text = ''
    this.#kept = this.#size = 0
    this.#hasEnded = false
  }

  #reserve(needed: number, limit: number): void {
    if (needed <= this.#buffer.length) return
    const wanted = this.#kept === 0 ? Math.max(needed, Math.min(FIRST_BYTES, limit)) : needed * 2
    // Not from the shared pool, of which a few bytes would keep a whole block.
    const larger = Buffer.allocUnsafeSlow(Math.min(wanted, limit))
    this.#buffer.copy(larger, 0, 0, this.#kept)
    this.#buffer = larger
  }
}
