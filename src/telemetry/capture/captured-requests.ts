import {
  CapturedRequest,
  type CapturedResponseHead,
  type CaptureStart,
} from '#telemetry/capture/captured-request.ts'
import type { CapturePage } from '#telemetry/capture/capture-page.ts'
import { OwnedCaptures, PAGE_BYTES } from '#telemetry/capture/owned-captures.ts'
import type { KeptRequest } from '#telemetry/request-log/ring.ts'

interface Limits {
  /** Memory of all captures together. */
  readonly maxBytes: number
  /** Of one body; the rest is only counted. */
  readonly maxBodyBytes: number
}

/** Called for each evicted capture, with the size of its file. */
type Evicted = (id: string, fileBytes: number) => void

export type Part = 'request' | 'response'

/**
 * The last captures, bounded in memory. Those that have ended are kept in pages; the oldest page of the owner who holds
 * most is evicted first, so that a busy owner does not evict captures of others.
 */
export class CapturedRequests {
  readonly #limits: Limits
  readonly #evicted: Evicted | undefined
  /** In no order. A map would be made anew every few requests, which costs more than all else here. */
  readonly #underWay: CapturedRequest[] = []
  /** Only those with captures. */
  readonly #owners = new Map<string, OwnedCaptures>()
  #bytes = 0
  /** Of an evicted page, for the next one. */
  #spare: Buffer | undefined
  readonly #allocate = (bytes: number): Buffer => {
    const spare = bytes === PAGE_BYTES ? this.#spare : undefined
    if (spare === undefined) return Buffer.allocUnsafeSlow(bytes)
    this.#spare = undefined
    return spare
  }

  constructor(limits: Limits, evicted?: Evicted) {
    this.#limits = limits
    this.#evicted = evicted
  }

  /** Memory that is held. */
  get bytes(): number {
    return this.#bytes
  }

  get(id: string): CapturedRequest | undefined {
    return this.#findUnderWay(id) ?? this.#pageWith(id)?.find(id)
  }

  /** Without a copy of its bodies. */
  has(id: string): boolean {
    return this.#findUnderWay(id) !== undefined || this.#pageWith(id) !== undefined
  }

  /** The entries of the request log that are saved with captures. */
  *records(): Generator<KeptRequest> {
    for (const page of this.#pages()) yield* page.records
  }

  begin(start: CaptureStart): CapturedRequest {
    const captured = new CapturedRequest(start)
    captured.place = this.#underWay.push(captured) - 1
    const owned = this.#ownedBy(captured.ownerId)
    owned.underWay++
    this.#hold(owned, captured.held)
    return captured
  }

  /** One from before a restart, older than all others; false if there is no room. */
  restore(captured: CapturedRequest): boolean {
    if (this.#bytes + Math.max(PAGE_BYTES, captured.held, captured.fileBytes) > this.#limits.maxBytes)
      return false
    const owned = this.#ownedBy(captured.ownerId)
    const before = owned.bytes
    owned.addOlder(captured, this.#allocate)
    this.#bytes += owned.bytes - before
    return true
  }

  /** Its route has this owner. */
  assign(captured: CapturedRequest, ownerId: string): void {
    if (captured.ownerId === ownerId || !captured.isUnderWay) return
    this.#release(captured)
    captured.ownerId = ownerId
    const owned = this.#ownedBy(ownerId)
    owned.underWay++
    this.#hold(owned, captured.held)
  }

  /** A response whose body is recorded from now on. */
  respond(captured: CapturedRequest, head: CapturedResponseHead): void {
    if (!captured.isUnderWay) return
    const before = captured.held
    captured.respond(head)
    this.#hold(this.#ownedBy(captured.ownerId), captured.held - before)
  }

  add(captured: CapturedRequest, part: Part, bytes: Buffer): void {
    if (!captured.isUnderWay) return
    const body = captured[part]
    const before = body.held
    body.add(bytes, this.#limits.maxBodyBytes)
    this.#hold(this.#ownedBy(captured.ownerId), body.held - before)
  }

  addText(captured: CapturedRequest, part: Part, text: string): void {
    if (!captured.isUnderWay) return
    const body = captured[part]
    const before = body.held
    body.addText(text, this.#limits.maxBodyBytes)
    this.#hold(this.#ownedBy(captured.ownerId), body.held - before)
  }

  /** The request has ended, and no longer changes. */
  end(captured: CapturedRequest): void {
    if (!captured.isUnderWay) return
    const owned = this.#ownedBy(captured.ownerId)
    this.#remove(captured)
    owned.underWay--
    const before = owned.bytes
    owned.add(captured, this.#allocate)
    owned.bytes -= captured.held
    this.#bytes += owned.bytes - before
    this.#evict()
  }

  /** Forgets a request that is under way. */
  drop(captured: CapturedRequest): void {
    if (!captured.isUnderWay) return
    this.#release(captured)
    this.#remove(captured)
    // A request that is still on its way refers to it.
    captured.request.clear()
    captured.response.clear()
    this.#evicted?.(captured.id, 0)
  }

  /** A file of this size was written for a capture; false if it was evicted before. */
  saved({ id, ownerId }: CapturedRequest, fileBytes: number): boolean {
    const owned = this.#owners.get(ownerId)
    if (owned === undefined) return false
    for (const page of owned.pages()) {
      const before = page.held
      if (!page.saved(id, fileBytes)) continue
      this.#hold(owned, page.held - before)
      return true
    }
    return false
  }

  *#pages(): Generator<CapturePage> {
    for (const owned of this.#owners.values()) yield* owned.pages()
  }

  #findUnderWay(id: string): CapturedRequest | undefined {
    return this.#underWay.find(each => each.id === id)
  }

  #pageWith(id: string): CapturePage | undefined {
    for (const page of this.#pages()) if (page.has(id)) return page
    return undefined
  }

  #ownedBy(ownerId: string): OwnedCaptures {
    let owned = this.#owners.get(ownerId)
    if (owned === undefined) this.#owners.set(ownerId, (owned = new OwnedCaptures(ownerId)))
    return owned
  }

  #hold(owned: OwnedCaptures, bytes: number): void {
    owned.bytes += bytes
    this.#bytes += bytes
    this.#evict()
  }

  /** Its owner holds it no longer. */
  #release(captured: CapturedRequest): void {
    const owned = this.#ownedBy(captured.ownerId)
    const { held } = captured
    owned.underWay--
    owned.bytes -= held
    this.#bytes -= held
    this.#forgetEmpty(owned)
  }

  /** It is no longer under way. */
  #remove(captured: CapturedRequest): void {
    const last = this.#underWay.pop()
    if (last !== undefined && last !== captured) {
      this.#underWay[captured.place] = last
      last.place = captured.place
    }
    captured.isUnderWay = false
  }

  #forgetEmpty(owned: OwnedCaptures): void {
    if (owned.isEmpty) this.#owners.delete(owned.ownerId)
  }

  #evict(): void {
    while (this.#bytes > this.#limits.maxBytes) {
      const largest = this.#largest()
      const page = largest?.takeOldest()
      if (largest !== undefined && page !== undefined) this.#evictPage(largest, page)
      else if (!this.#evictUnderWay(largest)) return
    }
  }

  /** The owner who holds most. */
  #largest(): OwnedCaptures | undefined {
    let largest: OwnedCaptures | undefined
    for (const owned of this.#owners.values())
      if (largest === undefined || owned.bytes > largest.bytes) largest = owned
    return largest
  }

  #evictPage(owned: OwnedCaptures, page: CapturePage): void {
    this.#bytes -= page.held
    this.#forgetEmpty(owned)
    if (this.#evicted !== undefined) for (const [id, bytes] of page.files()) this.#evicted(id, bytes)
    if (page.memory.length === PAGE_BYTES) this.#spare = page.memory
  }

  /** The oldest of an owner; false if there is none. */
  #evictUnderWay(owned: OwnedCaptures | undefined): boolean {
    let oldest: CapturedRequest | undefined
    for (const captured of this.#underWay)
      if (captured.ownerId === owned?.ownerId && (oldest === undefined || captured.id < oldest.id))
        oldest = captured
    if (oldest !== undefined) this.drop(oldest)
    return oldest !== undefined
  }
}
