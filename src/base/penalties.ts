import { Holdings } from '#base/holdings.ts'

/** Like OpenSSH's PerSourcePenalties: a failing source collects penalty time, and is blocked once it has enough. */
export interface PenaltyLimits {
  /** Milliseconds of penalty that a source may collect before it is blocked. */
  readonly threshold: number
  /** The maximum penalty. */
  readonly most: number
  /** How many sources are tracked, of all groups together. */
  readonly sources: number
}

interface Penalty {
  end: number
  waits: boolean
}

/**
 * Tracks failing sources: a group is one target, such as an endpoint. When the table is full, the group with most
 * sources drops the one that failed longest ago, so that an attack on one target does not clear the others.
 */
export class Penalties {
  readonly #limits: PenaltyLimits
  readonly #now: () => number
  readonly #groups = new Map<string, Map<string, Penalty>>()
  readonly #sizes = new Holdings<string>()
  #count = 0

  constructor(limits: PenaltyLimits, now: () => number = Date.now) {
    this.#limits = limits
    this.#now = now
  }

  /** Adds penalty time to a source that failed. */
  add(group: string, source: string, cost: number): void {
    const now = this.#now()
    const before = this.#groups.get(group)?.get(source)
    const end = Math.min(Math.max(before?.end ?? 0, now) + cost, now + this.#limits.most)
    const waits = before?.waits === true && before.end > now
    this.forgive(group, source)
    const sources = this.#groups.get(group) ?? new Map<string, Penalty>()
    this.#groups.set(group, sources.set(source, { end, waits: waits || end - now >= this.#limits.threshold }))
    this.#sizes.add(group)
    if (++this.#count > this.#limits.sources) this.#forgetOne()
  }

  forgive(group: string, source: string): void {
    const sources = this.#groups.get(group)
    if (sources?.delete(source) !== true) return
    if (sources.size === 0) this.#groups.delete(group)
    this.#sizes.remove(group)
    this.#count--
  }

  /** Milliseconds until a source is unblocked; 0: it may try. */
  waitOf(group: string, source: string): number {
    const entry = this.#groups.get(group)?.get(source)
    if (entry === undefined) return 0
    const left = entry.end - this.#now()
    if (left <= 0) this.forgive(group, source)
    return left > 0 && entry.waits ? left : 0
  }

  #forgetOne(): void {
    const group = this.#sizes.largest()
    const [oldest] = (group !== undefined && this.#groups.get(group)?.keys()) || []
    if (group !== undefined && oldest !== undefined) this.forgive(group, oldest)
  }
}
