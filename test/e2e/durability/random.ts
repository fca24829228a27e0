/** Numbers that look random and follow from the seed (mulberry32). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** At least 0 and below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }

  pick<Item>(items: readonly Item[]): Item | undefined {
    return items[this.below(items.length)]
  }
}

// The short form finds the same in every run: what a new seed finds is looked for where there is time.
const usual = process.env['TEST_LONG'] === '1' ? Date.now() % 2 ** 31 : 1

/** The seed of this run: given in TEST_SEED to repeat another one. */
export const seedOfRun = (): number => Number(process.env['TEST_SEED'] ?? usual)
