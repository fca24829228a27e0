import { FairShare } from '#base/fair-share.ts'

/** As OpenSSH's MaxStartups and PerSourceMaxStartups: how many may be connected without having signed in. */
export interface StartupLimits {
  /** From this many on some are turned away, ... */
  readonly start: number
  /** ... at first this part of them, rising to all ... */
  readonly rate: number
  /** ... at this many. */
  readonly full: number
  readonly perSource: number
}

export const DEFAULT_STARTUPS: StartupLimits = { start: 10, rate: 0.3, full: 100, perSource: 50 }

/**
 * Counts connections that have not signed in, and says which new ones may come in. A source that has none is let in as
 * long as there is room, and one that has many leaves room for others.
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

  /** Lets one in and returns how to take it off the count; undefined: turn it away. */
  enter(source: string): (() => void) | undefined {
    const there = this.#share.held(source)
    if (there >= this.#limits.perSource || (there > 0 && this.#random() < this.#refusedPart()))
      return undefined
    if (!this.#share.take([source])) return undefined
    let inside = true
    return () => {
      if (inside) this.#share.release([source])
      inside = false
    }
  }

  #refusedPart(): number {
    const { start, rate, full } = this.#limits
    if (this.count < start) return 0
    if (this.count >= full) return 1
    return rate + ((1 - rate) * (this.count - start)) / (full - start)
  }
}
