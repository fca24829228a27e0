interface CacheEntry<Value> {
  readonly value: Value
  readonly weight: number
}

/**
 * A bounded cache with two generations: an entry used in the older one moves to the younger, and when that is full, the
 * older one is dropped. A hit costs one look-up, without LRU order.
 */
export class TwoGenerationCache<Value> {
  readonly #limit: number
  #young = new Map<string, CacheEntry<Value>>()
  #old = new Map<string, CacheEntry<Value>>()
  #weight = 0

  /** `limit`: total weight of one generation. */
  constructor(limit: number) {
    this.#limit = limit
  }

  get(key: string): Value | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young.value
    const old = this.#old.get(key)
    if (old !== undefined) this.#put(key, old)
    return old?.value
  }

  set(key: string, value: Value, weight = 1): void {
    this.#put(key, { value, weight })
  }

  delete(key: string): void {
    this.#weight -= this.#young.get(key)?.weight ?? 0
    this.#young.delete(key)
    this.#old.delete(key)
  }

  #put(key: string, kept: CacheEntry<Value>): void {
    this.delete(key)
    if (kept.weight > this.#limit) return
    if (this.#weight + kept.weight > this.#limit) {
      this.#old = this.#young
      this.#young = new Map()
      this.#weight = 0
    }
    this.#young.set(key, kept)
    this.#weight += kept.weight
  }
}
