/** Lets work on one thing be done in the order in which it was asked for. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>()

  async take(key: string, work: () => Promise<void>): Promise<void> {
    const before = this.#last.get(key)
    // What failed before has been told to whom it concerned.
    const turn = before === undefined ? work() : before.then(work, work)
    this.#last.set(key, turn)
    try {
      await turn
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key)
    }
  }
}
