import { FairShare } from '#base/fair-share.ts'

/** Like OpenSSH's MaxStartups and PerSourceMaxStartups: limits on unauthenticated connections. */
export interface StartupLimits {
  /** From this many on some are rejected, ... */
  readonly start: number
  /** ... at first this fraction, rising to all ... */
  readonly rate: number
  /** ... at this many. */
  readonly full: number
  readonly perSource: number
}

export const DEFAULT_STARTUPS: StartupLimits = { start: 10, rate: 0.3, full: 100, perSource: 50 }

/**
 * Counts unauthenticated connections and admits new ones. A source without any is admitted while there is room, and one
 * with many leaves room for others.
 */
export class Startups {
  readonly #limits: StartupLimits
  readonly #random: () => number
  readonly #share: FairShare

  constructor(limits: StartupLimits, random: () => number = Math.random) {
    this.#limits = limits
    this.#random = random
    this.#share = new FairShare(limits.full)
  }

  get count(): number {
    return this.#share.used
  }

  /** Admits one and returns its release; undefined: reject it. */
  enter(source: string): (() => void) | undefined {
    const there = this.#share.held(source)
    if (there >= this.#limits.perSource || (there > 0 && this.#random() < this.#refusedPart()))
      return undefined
    return this.#share.enter([source])
  }

  #refusedPart(): number {
    const { start, rate, full } = this.#limits
    if (this.count < start) return 0
    if (this.count >= full) return 1
    return rate + ((1 - rate) * (this.count - start)) / (full - start)
  }
}
