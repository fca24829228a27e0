import { timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'

/** Uncaught errors of this process and its workers. */
export interface Uncaught {
  readonly count: number
  /** RFC 3339; undefined while there was none. */
  readonly last: string | undefined
}

const LOG_EVERY_MS = 1000

/**
 * Handles uncaught errors. Node would exit, and with it every tunnel, for an error of one connection or one record; so
 * the server continues, and the error is logged, counted and reported.
 */
export class LastResort implements Disposable {
  readonly #log: Log
  readonly #reported: () => void
  #count = 0
  #last: string | undefined
  #loggedAt = -Infinity
  #skipped = 0

  /** `reported` is called for every error, even if the log line is dropped. */
  constructor(log: Log, reported: () => void = () => undefined) {
    this.#log = log
    this.#reported = reported
    process.on('uncaughtException', this.#take)
    process.on('unhandledRejection', this.#take)
  }

  get uncaught(): Uncaught {
    return { count: this.#count, last: this.#last }
  }

  [Symbol.dispose](): void {
    process.off('uncaughtException', this.#take)
    process.off('unhandledRejection', this.#take)
  }

  readonly #take = (error: unknown): void => {
    this.note()
    try {
      this.#reported()
      this.#write(error)
    } catch {
      // A failing log must not recurse.
    }
  }

  /** An error of a worker process, which has logged it. */
  note(): void {
    this.#count++
    this.#last = timestamp(Date.now())
  }

  /** At most one line a second: an error in every request must not fill the disk. */
  #write(error: unknown): void {
    const now = performance.now()
    if (now - this.#loggedAt < LOG_EVERY_MS) {
      this.#skipped++
      return
    }
    this.#loggedAt = now
    const skipped = this.#skipped
    this.#skipped = 0
    this.#log.error({ error, skipped }, 'uncaught error; the server continues')
  }
}
