/**
 * A budget that many share. A key (a client address, an endpoint) that is alone may hold `share` of the total. As others
 * take some too, each may hold the same multiple of what is left, so there is room for a newcomer however many hold some
 * of it: the dynamic thresholds of shared switch buffers (Choudhury and Hahne, 1998).
 */
export class FairShare {
  readonly total: number
  readonly #multiple: number
  readonly #least: number
  // Every entry holds some of the total, so the total bounds their number.
  readonly #held = new Map<string, number>()
  #used = 0

  /** `least` is what a key may hold as long as there is any, however little is left. */
  constructor(total: number, share = 0.5, least = 0) {
    this.total = total
    this.#multiple = share / (1 - share)
    this.#least = least
  }

  get used(): number {
    return this.#used
  }

  get free(): number {
    return this.total - this.#used
  }

  held(key: string): number {
    return this.#held.get(key) ?? 0
  }

  /** Whether all of the keys may hold so much more. */
  allows(keys: readonly string[], amount = 1): boolean {
    if (amount > this.free) return false
    for (const key of keys) if (!this.#mayHold(key, amount)) return false
    return true
  }

  /** Takes some of the budget for all of the keys; false: one of them has its share, or nothing is left. */
  take(keys: readonly string[], amount = 1): boolean {
    if (!this.allows(keys, amount)) return false
    this.charge(keys, amount)
    return true
  }

  /** Notes what cannot be refused any more. */
  charge(keys: readonly string[], amount = 1): void {
    this.#used += amount
    for (const key of keys) this.#held.set(key, this.held(key) + amount)
  }

  release(keys: readonly string[], amount = 1): void {
    this.#used -= amount
    for (const key of keys) {
      const rest = this.held(key) - amount
      if (rest > 0) this.#held.set(key, rest)
      else this.#held.delete(key)
    }
  }

  /** All of it is free again. */
  clear(): void {
    this.#used = 0
    this.#held.clear()
  }

  #mayHold(key: string, amount: number): boolean {
    const held = this.#held.get(key)
    // One that holds nothing may have something, as long as there is any.
    return held === undefined || held + amount <= Math.max(this.#least, this.#multiple * this.free)
  }
}
