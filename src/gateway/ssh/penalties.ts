/** As OpenSSH's PerSourcePenalties: a source that fails collects time, and waits once it has enough of it. */
export interface PenaltyLimits {
  /** Milliseconds for a connection whose attempts all failed. */
  readonly refused: number
  /** For one that did not sign in within the time it has. */
  readonly late: number
  /** What a source may collect before it has to wait. */
  readonly threshold: number
  readonly most: number
  readonly sources: number
}

export const DEFAULT_PENALTIES: PenaltyLimits = {
  refused: 5_000,
  late: 10_000,
  threshold: 15_000,
  most: 600_000,
  sources: 16_384,
}

/** Keeps a bounded number of sources; the one that failed longest ago makes place for a new one. */
export class Penalties {
  readonly #limits: PenaltyLimits
  readonly #now: () => number
  readonly #until = new Map<string, { end: number; waits: boolean }>()

  constructor(limits: PenaltyLimits, now: () => number) {
    this.#limits = limits
    this.#now = now
  }

  add(source: string, reason: 'refused' | 'late'): void {
    const now = this.#now()
    const before = this.#until.get(source)
    const end = Math.min(Math.max(before?.end ?? 0, now) + this.#limits[reason], now + this.#limits.most)
    const waits = before?.waits === true && before.end > now
    this.#until.delete(source)
    this.#until.set(source, { end, waits: waits || end - now >= this.#limits.threshold })
    if (this.#until.size > this.#limits.sources) this.#forgetOne()
  }

  /** A source that has signed in is no guesser. */
  forgive(source: string): void {
    this.#until.delete(source)
  }

  mayConnect(source: string): boolean {
    const entry = this.#until.get(source)
    if (entry === undefined) return true
    if (entry.end > this.#now()) return !entry.waits
    this.#until.delete(source)
    return true
  }

  #forgetOne(): void {
    const [oldest] = this.#until.keys()
    if (oldest !== undefined) this.#until.delete(oldest)
  }
}
