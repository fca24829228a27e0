/**
 * A shared budget. A key (a client address, an endpoint) that is alone may hold `share` of the total. As other keys
 * take some, each may hold the same multiple of what is left, so a new key always gets some: the dynamic thresholds of
 * shared switch buffers (Choudhury and Hahne, 1998).
 */
export class FairShare {
  readonly total: number
  readonly #multiple: number
  readonly #least: number
  // Every entry holds some of the total, so the total limits their number.
  readonly #held = new Map<string, number>()
  #used = 0

  /** `least` is what a key may always hold while anything is left. */
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

  /** Keys that hold some. */
  get keys(): number {
    return this.#held.size
  }

  /** What the key with most of it holds. */
  most(): number {
    let most = 0
    for (const held of this.#held.values()) if (held > most) most = held
    return most
  }

  held(key: string): number {
    return this.#held.get(key) ?? 0
  }

  /** Whether all of the keys may hold this much more. */
  allows(keys: readonly string[], amount = 1): boolean {
    if (amount > this.free) return false
    for (const key of keys) if (!this.#mayHold(key, amount)) return false
    return true
  }

  /** Takes some of the budget for all of the keys; false: one of them has used its share, or nothing is left. */
  take(keys: readonly string[], amount = 1): boolean {
    if (!this.allows(keys, amount)) return false
    this.charge(keys, amount)
    return true
  }

  /** The same for one unit, and returns its release, which may be called again; undefined: rejected. */
  enter(keys: readonly string[]): (() => void) | undefined {
    if (!this.take(keys)) return undefined
    let inside = true
    return () => {
      if (inside) this.release(keys)
      inside = false
    }
  }

  /** Records use that can no longer be rejected. */
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

  /** Returns all of it. */
  clear(): void {
    this.#used = 0
    this.#held.clear()
  }

  #mayHold(key: string, amount: number): boolean {
    const held = this.#held.get(key)
    // A key that holds nothing may take some, as long as anything is left.
    return held === undefined || held + amount <= Math.max(this.#least, this.#multiple * this.free)
  }
}
