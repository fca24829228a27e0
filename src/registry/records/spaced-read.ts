import { setTimeout as wait } from 'node:timers/promises'
import { inTime } from '#base/in-time.ts'

/** Reads keep this distance, so that a flood of callers does not become one of reads. */
const DISTANCE_MS = 100

/** A read that is shared by all who ask before it begins. It may fail, or take too long. */
export class SpacedRead {
  readonly #read: () => Promise<void>
  #next: Promise<void> | undefined
  #current: Promise<void> = Promise.resolve()
  #begunAt = -Infinity

  constructor(read: () => Promise<void>) {
    this.#read = read
  }

  /** Resolves after a read that begins from now on. Never rejects. */
  run(): Promise<void> {
    this.#next ??= this.#begin()
    return this.#next
  }

  async #begin(): Promise<void> {
    await this.#current
    const restMs = this.#begunAt + DISTANCE_MS - performance.now()
    if (restMs > 0) await wait(restMs)
    this.#begunAt = performance.now()
    this.#next = undefined
    this.#current = inTime(this.#read())
    await this.#current
  }
}
