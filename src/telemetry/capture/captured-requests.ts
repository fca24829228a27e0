import { CapturedRequest, type CaptureStart } from '#telemetry/capture/captured-request.ts'

interface Limits {
  /** Memory of all captures together. */
  readonly maxBytes: number
  /** Of one body; the rest is only counted. */
  readonly maxBodyBytes: number
}

export type Part = 'request' | 'response'

const COMPACT_AFTER = 64

/** The last captures, bounded in memory: the oldest are evicted first. */
export class CapturedRequests {
  readonly #limits: Limits
  readonly #byId = new Map<string, CapturedRequest>()
  /** The oldest first; those before `#first` were evicted. */
  #order: CapturedRequest[] = []
  #first = 0
  #bytes = 0

  constructor(limits: Limits) {
    this.#limits = limits
  }

  /** Memory that is held. */
  get bytes(): number {
    return this.#bytes
  }

  get(id: string): CapturedRequest | undefined {
    return this.#byId.get(id)
  }

  begin(start: CaptureStart): CapturedRequest {
    const captured = new CapturedRequest(start)
    this.#byId.set(captured.id, captured)
    this.#order.push(captured)
    this.#bytes += captured.held
    this.#evict()
    return captured
  }

  add(captured: CapturedRequest, part: Part, bytes: Buffer): void {
    this.change(captured, () => captured[part].add(bytes, this.#limits.maxBodyBytes))
  }

  addText(captured: CapturedRequest, part: Part, text: string): void {
    this.change(captured, () => captured[part].addText(text, this.#limits.maxBodyBytes))
  }

  /** Applies a change and accounts for its memory; evicted captures no longer change. */
  change(captured: CapturedRequest, apply: () => void): void {
    if (!captured.isKept) return
    const before = captured.held
    apply()
    this.#bytes += captured.held - before
    this.#evict()
  }

  #evict(): void {
    while (this.#bytes > this.#limits.maxBytes) {
      const oldest = this.#order[this.#first]
      if (oldest === undefined) return
      this.#first++
      oldest.isKept = false
      this.#byId.delete(oldest.id)
      this.#bytes -= oldest.held
      // A request that is still on its way refers to it.
      oldest.request.clear()
      oldest.response.clear()
    }
    // Not each time: moving the others costs more than keeping a few empty ones for longer.
    if (this.#first < COMPACT_AFTER || this.#first < this.#order.length / 2) return
    this.#order = this.#order.slice(this.#first)
    this.#first = 0
  }
}
