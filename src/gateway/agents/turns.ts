/** Serial queue per key. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>()

  async take(key: string, work: () => Promise<void>): Promise<void> {
    const before = this.#last.get(key)
    // Earlier failures were already reported to their callers.
    const turn = before === undefined ? work() : before.then(work, work)
    this.#last.set(key, turn)
    try {
      await turn
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key)
    }
  }
}
