import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * A read that the callers of one turn of the event loop share, and those that come while the read before runs. It starts
 * after all of their calls, so that each sees all that was committed before it asked.
 */
export class SharedRead<Result> {
  readonly #read: () => Promise<Result>
  #running: Promise<unknown> | undefined
  #next: Promise<Result> | undefined

  constructor(read: () => Promise<Result>) {
    this.#read = read
  }

  result(): Promise<Result> {
    this.#next ??= this.#readNext()
    return this.#next
  }

  async #readNext(): Promise<Result> {
    await this.#running?.catch(() => undefined)
    await nextTurn()
    this.#next = undefined
    const result = this.#read()
    this.#running = result
    return result
  }
}
