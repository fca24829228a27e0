/** Counts what each key holds, and knows the largest holder at any time. */
export class Holdings<Key> {
  readonly #counts = new Map<Key, number>()
  /** By count: the keys that hold so many; undefined: none. A map would be rebuilt again and again as counts change. */
  readonly #byCount: (Set<Key> | undefined)[] = []
  #most = 0

  /** Keys with a count above zero. */
  get keys(): number {
    return this.#counts.size
  }

  /** The count of the largest holder. */
  get most(): number {
    return this.#most
  }

  of(key: Key): number {
    return this.#counts.get(key) ?? 0
  }

  /** The largest holder; undefined when nothing is held. Among equals the one that has been for longest. */
  largest(): Key | undefined {
    const [key] = this.#byCount[this.#most] ?? []
    return key
  }

  add(key: Key): void {
    const count = this.of(key)
    this.#counts.set(key, count + 1)
    this.#move(key, count, count + 1)
    this.#most = Math.max(this.#most, count + 1)
  }

  remove(key: Key): void {
    const count = this.of(key)
    if (count === 0) return
    if (count === 1) this.#counts.delete(key)
    else this.#counts.set(key, count - 1)
    this.#move(key, count, count - 1)
    // The largest holder has one less now, so at most one step is needed.
    if (this.#byCount[this.#most] !== undefined) return
    this.#byCount.pop()
    this.#most--
  }

  #move(key: Key, from: number, to: number): void {
    const before = this.#byCount[from]
    const after = this.#byCount[to]
    const alone = before?.size === 1 ? before : undefined
    if (alone) this.#byCount[from] = undefined
    else before?.delete(key)
    if (after) after.add(key)
    // A set of one moves along: the largest holder mostly is alone.
    else if (to > 0) this.#byCount[to] = alone ?? new Set([key])
  }
}
