import type { OutgoingEvent } from '#events/destination.ts'
import type { Row } from '#store/store.ts'

/** So many are read or written at once: there may be far more of them than there is memory for. */
export const LETTER_PAGE = 500

/** An event that could not be delivered, and why. */
export interface DeadLetterBody {
  readonly event: OutgoingEvent
  readonly reason: string
}

export interface DeadLetter {
  readonly row: Row
  readonly event: OutgoingEvent
}

/**
 * Dead letters, oldest first, a page at a time. The store lists only the newest first, so the way back is marked: one id
 * for each page is all that is kept of those that are yet to come.
 */
export class LetterWalk {
  readonly #list: (before: string, limit?: number) => Promise<Row[]>
  readonly #marks: string[]
  #passed = ''

  constructor(list: (before: string, limit?: number) => Promise<Row[]>, newest: string) {
    this.#list = list
    // What is given up from now on is not part of it: else it might never end.
    this.#marks = [`${newest}~`]
  }

  /** The oldest that were not passed; none when all were. */
  async next(): Promise<DeadLetter[]> {
    for (let mark = this.#marks.at(-1); mark !== undefined; mark = this.#marks.at(-1)) {
      const page = await this.#list(mark)
      const last = page.at(-1)?.id ?? ''
      const isMore = page.length === LETTER_PAGE && last > this.#passed && (await this.#isMoreBehind(last))
      if (isMore) this.#marks.push(last)
      else {
        const due = page.filter(({ id }) => id > this.#passed)
        if (due.length > 0) return due.toReversed().map(opened)
        this.#marks.pop()
      }
    }
    return []
  }

  /** Up to this one they were sent, or refused again. */
  pass({ row }: DeadLetter): void {
    this.#passed = row.id
  }

  async #isMoreBehind(id: string): Promise<boolean> {
    const [next] = await this.#list(id, 1)
    return next !== undefined && next.id > this.#passed
  }
}

const opened = (row: Row): DeadLetter => ({ row, event: (JSON.parse(row.body) as DeadLetterBody).event })
