const NOTHING = Buffer.alloc(0)
/** The overhead of a buffer besides its bytes. */
const BUFFER_BYTES = 192

/** A beginning up to this length is kept as a text: most bodies are small, and a buffer costs several times their bytes. */
const TEXT_BYTES = 512

/** The beginning of a body, in one buffer that grows: many small pieces would need far more memory than their bytes. */
export class RecordedBody {
  #buffer: Buffer = NOTHING
  /** In latin1: a body that was in memory as a text, or a small beginning. Empty as soon as there is a buffer. */
  #text = ''
  #kept = 0
  #size = 0
  #hasEnded = false

  /** Bytes that passed, kept or not. */
  get size(): number {
    return this.#size
  }

  /** Bytes that are kept. */
  get kept(): number {
    return this.#kept
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

  /** Copies what is kept; returns how much that was. */
  copy(target: Buffer, at: number): number {
    if (this.#kept === 0) return 0
    return this.#text === ''
      ? this.#buffer.copy(target, at, 0, this.#kept)
      : target.write(this.#text, at, 'latin1')
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
    if (this.#kept === 0 && room <= TEXT_BYTES) {
      this.#text = bytes.toString('latin1', 0, room)
      this.#kept = room
      return
    }
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
    const wanted = this.#kept === 0 ? needed : needed * 2
    // Not from the shared pool, of which a few bytes would keep a whole block.
    const larger = Buffer.allocUnsafeSlow(Math.min(wanted, limit))
    if (this.#text === '') this.#buffer.copy(larger, 0, 0, this.#kept)
    else larger.write(this.#text, 0, 'latin1')
    this.#text = ''
    this.#buffer = larger
  }
}
