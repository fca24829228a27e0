import type { CapturedRequest } from '#telemetry/capture/captured-request.ts'

const COMPACT_AFTER = 64

/** The captures of one owner, in their order. */
export class OwnedCaptures {
  /** Memory that they hold. */
  bytes = 0
  /** The oldest first; those before `#first` were taken. */
  #order: (CapturedRequest | undefined)[] = []
  #first = 0
  /** Those from before a restart, the newest first. */
  readonly #older: CapturedRequest[] = []

  get isEmpty(): boolean {
    return this.#first === this.#order.length && this.#older.length === 0
  }

  *values(): Generator<CapturedRequest> {
    yield* this.#older
    for (const captured of this.#order) if (captured !== undefined) yield captured
  }

  add(captured: CapturedRequest): void {
    this.#order.push(captured)
    this.bytes += captured.held
  }

  /** One that is older than all others. */
  addOlder(captured: CapturedRequest): void {
    this.#older.push(captured)
    this.bytes += captured.held
  }

  remove(captured: CapturedRequest): void {
    // It is among the last, because only a request on its way changes its owner.
    const at = this.#order.lastIndexOf(captured)
    if (at < this.#first) return
    this.#order.splice(at, 1)
    this.bytes -= captured.held
  }

  takeOldest(): CapturedRequest | undefined {
    const oldest = this.#older.pop() ?? this.#takeFirst()
    if (oldest !== undefined) this.bytes -= oldest.held
    return oldest
  }

  #takeFirst(): CapturedRequest | undefined {
    const first = this.#order[this.#first]
    if (first === undefined) return undefined
    // Otherwise as many as are kept could stay in memory beside them.
    this.#order[this.#first++] = undefined
    // Not each time: moving the others costs more than keeping a few empty ones for longer.
    if (this.#first >= COMPACT_AFTER && this.#first >= this.#order.length / 2) {
      this.#order = this.#order.slice(this.#first)
      this.#first = 0
    }
    return first
  }
}
