import type { OutgoingEvent } from '#events/destination.ts'
import type { Row } from '#store/store.ts'

/** Page size: there may be far more of them than memory. */
export const DEAD_LETTER_PAGE = 500

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
 * Dead letters, oldest first, page by page. The store lists only the newest first, so the way back is marked: one id
 * per page is all that is kept of the remaining ones.
 */
export class DeadLetterCursor {
  readonly #list: (before: string, limit?: number) => Promise<Row[]>
  readonly #marks: string[]
  #position = ''

  constructor(list: (before: string, limit?: number) => Promise<Row[]>, newest: string) {
    this.#list = list
    // Letters added from now on are excluded: else it might never end.
    this.#marks = [`${newest}~`]
  }

  /** The oldest remaining ones; empty at the end. */
  async next(): Promise<DeadLetter[]> {
    for (let mark = this.#marks.at(-1); mark !== undefined; mark = this.#marks.at(-1)) {
      const page = await this.#list(mark)
      const last = page.at(-1)?.id ?? ''
      const isMore =
        page.length === DEAD_LETTER_PAGE && last > this.#position && (await this.#isMoreBehind(last))
      if (isMore) this.#marks.push(last)
      else {
        const due = page.filter(({ id }) => id > this.#position)
        if (due.length > 0) return due.toReversed().map(opened)
        this.#marks.pop()
      }
    }
    return []
  }

  /** Up to this one they were sent, or rejected again. */
  advance({ row }: DeadLetter): void {
    this.#position = row.id
  }

  async #isMoreBehind(id: string): Promise<boolean> {
    const [next] = await this.#list(id, 1)
    return next !== undefined && next.id > this.#position
  }
}

const opened = (row: Row): DeadLetter => ({ row, event: (JSON.parse(row.body) as DeadLetterBody).event })
