/**
 * A read that callers share. One that comes while it runs gets the next result, not this one, so that it sees all that
 * was committed before it asked.
 */
export class SharedRead<Result> {
  readonly #read: () => Promise<Result>
  #running: Promise<Result> | undefined
  #next: Promise<Result> | undefined

  constructor(read: () => Promise<Result>) {
    this.#read = read
  }

  result(): Promise<Result> {
    if (this.#running === undefined) return this.#start()
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    )
    return this.#next
  }

  #start(): Promise<Result> {
    this.#next = undefined
    const running = this.#read().finally(() => {
      if (this.#running === running) this.#running = undefined
    })
    this.#running = running
    return running
  }
}
