import { CapturedRequest, type CaptureStart } from '#telemetry/capture/captured-request.ts'
import { OwnedCaptures } from '#telemetry/capture/owned-captures.ts'

interface Limits {
  /** Memory of all captures together. */
  readonly maxBytes: number
  /** Of one body; the rest is only counted. */
  readonly maxBodyBytes: number
}

/** The index by id is dropped once so many captures have begun since it was last used. */
const INDEX_BEGINS = 10_000

type Evicted = (captured: CapturedRequest) => void

export type Part = 'request' | 'response'

/**
 * The last captures, bounded in memory. The oldest of the owner who holds most is evicted first, so that a busy owner
 * does not evict those of others.
 */
export class CapturedRequests {
  readonly #limits: Limits
  readonly #evicted: Evicted
  /** Made when a capture is read: keeping it up to date costs as much as all else that a capture needs. */
  #index: Map<string, CapturedRequest> | undefined
  #begunSinceUse = 0
  /** Only those with captures. */
  readonly #owners = new Map<string, OwnedCaptures>()
  #bytes = 0

  constructor(limits: Limits, evicted: Evicted) {
    this.#limits = limits
    this.#evicted = evicted
  }

  /** Memory that is held. */
  get bytes(): number {
    return this.#bytes
  }

  get(id: string): CapturedRequest | undefined {
    this.#begunSinceUse = 0
    this.#index ??= new Map(Array.from(this.values(), captured => [captured.id, captured]))
    return this.#index.get(id)
  }

  *values(): Generator<CapturedRequest> {
    for (const owned of this.#owners.values()) yield* owned.values()
  }

  begin(start: CaptureStart): CapturedRequest {
    const captured = new CapturedRequest(start)
    if (++this.#begunSinceUse > INDEX_BEGINS) this.#index = undefined
    this.#index?.set(captured.id, captured)
    this.#ownedBy(captured.ownerId).add(captured)
    this.#bytes += captured.held
    this.#evict()
    return captured
  }

  /** One from before a restart, older than all others; false if there is no room. */
  restore(captured: CapturedRequest): boolean {
    const { held } = captured
    if (this.#bytes + held > this.#limits.maxBytes) return false
    this.#index?.set(captured.id, captured)
    this.#ownedBy(captured.ownerId).addOlder(captured)
    this.#bytes += held
    return true
  }

  /** Its route has this owner. */
  assign(captured: CapturedRequest, ownerId: string): void {
    if (captured.ownerId === ownerId) return
    if (captured.isKept) {
      this.#ownedBy(captured.ownerId).remove(captured)
      this.#forgetEmpty(captured.ownerId)
      this.#ownedBy(ownerId).add(captured)
    }
    captured.ownerId = ownerId
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
    const added = captured.held - before
    this.#bytes += added
    this.#ownedBy(captured.ownerId).bytes += added
    this.#evict()
  }

  #ownedBy(ownerId: string): OwnedCaptures {
    let owned = this.#owners.get(ownerId)
    if (owned === undefined) this.#owners.set(ownerId, (owned = new OwnedCaptures()))
    return owned
  }

  #forgetEmpty(ownerId: string): void {
    if (this.#owners.get(ownerId)?.isEmpty === true) this.#owners.delete(ownerId)
  }

  #evict(): void {
    while (this.#bytes > this.#limits.maxBytes) {
      const { largest, second } = this.#largest()
      if (largest === undefined) return
      do this.#drop(largest.takeOldest())
      while (this.#bytes > this.#limits.maxBytes && largest.bytes > second)
    }
  }

  /** The owner who holds most, and how much the next one holds. */
  #largest(): { largest: OwnedCaptures | undefined; second: number } {
    let largest: OwnedCaptures | undefined
    let second = 0
    for (const owned of this.#owners.values())
      if (largest === undefined || owned.bytes > largest.bytes) {
        second = largest?.bytes ?? 0
        largest = owned
      } else if (owned.bytes > second) second = owned.bytes
    return { largest, second }
  }

  #drop(captured: CapturedRequest | undefined): void {
    if (captured === undefined) return
    captured.isKept = false
    this.#index?.delete(captured.id)
    this.#bytes -= captured.held
    this.#forgetEmpty(captured.ownerId)
    // A request that is still on its way refers to it.
    captured.request.clear()
    captured.response.clear()
    this.#evicted(captured)
  }
}
