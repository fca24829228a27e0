/** The peer may have sent frames before it knew of a reset; these many streams are remembered for that. */
const MAX_RESET = 512

/**
 * idle: not opened yet. open: it is in the table. reset: it was reset from here, and frames may still be in flight.
 * skipped: never opened, but a later one was. closed: all others.
 */
type StreamState = 'idle' | 'open' | 'reset' | 'skipped' | 'closed'

/** The streams of a connection, by number. */
export class StreamTable<Stream extends { readonly id: number }> {
  readonly #open = new Map<number, Stream>()
  readonly #reset = new Set<number>()
  #last = 0
  /** The latest gap in the numbers: above the first, below the second. */
  #gapAbove = 0
  #gapBelow = 0

  get size(): number {
    return this.#open.size
  }

  /** The highest number in use so far. */
  get last(): number {
    return this.#last
  }

  get(id: number): Stream | undefined {
    return this.#open.get(id)
  }

  all(): IterableIterator<Stream> {
    return this.#open.values()
  }

  stateOf(id: number): StreamState {
    if (this.#open.has(id)) return 'open'
    if (id > this.#last || id % 2 === 0) return 'idle'
    if (this.#reset.has(id)) return 'reset'
    return id > this.#gapAbove && id < this.#gapBelow ? 'skipped' : 'closed'
  }

  /** A new number is used. */
  use(id: number): void {
    if (id > this.#last + 2) {
      this.#gapAbove = this.#last
      this.#gapBelow = id
    }
    this.#last = id
  }

  add(stream: Stream): void {
    this.#open.set(stream.id, stream)
  }

  delete(id: number): void {
    this.#open.delete(id)
  }

  /** The stream was reset from here. */
  wasReset(id: number): void {
    this.#reset.add(id)
    if (this.#reset.size <= MAX_RESET) return
    const [oldest] = this.#reset
    if (oldest !== undefined) this.#reset.delete(oldest)
  }
}
