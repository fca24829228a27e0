/** Runs tasks one after another. A task that fails rejects only for its own caller. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  /** Never starts the task before the caller's synchronous code ends. */
  run<Result>(task: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(task)
    this.#last = done.catch(() => undefined)
    return done
  }

  /** Resolves when all tasks so far have ended. */
  async settled(): Promise<void> {
    await this.#last
  }
}

/** One serial queue per key. A key without tasks takes no memory, and its next task starts at once. */
export class KeyedSerialQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  async run<Result>(key: string, task: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key)
    const done = before === undefined ? task() : before.then(task, task)
    this.#last.set(key, done)
    try {
      return await done
    } finally {
      if (this.#last.get(key) === done) this.#last.delete(key)
    }
  }
}
