import type { CommittedGroup } from '#store/apply.ts'
import type { Row, RowChange } from '#store/store.ts'

const MOST = 1000
/** Larger rows are read again: 2,000 of them would take too much memory. */
const MAX_BODY = 4096

/** What a reader needs to see. */
interface Needed {
  readonly after: number
  /** It has read this revision. */
  readonly known: number
  /** How many connections the engine has opened: a new one may be to a server that lacks the latest commits. */
  readonly connections: number
}

/**
 * The latest changes of this process, without gaps. Several readers follow each commit, and need no query for what they
 * have not seen yet.
 */
export class RecentChanges {
  #changes: RowChange[] = []
  #rows: (Row | undefined)[] = []
  #connections = 0

  /** `connections`: how many the engine had opened before the commit. */
  add({ changes, written }: CommittedGroup, connections: number): void {
    if (connections !== this.#connections || !this.#continuesWith(changes)) this.clear()
    this.#connections = connections
    this.#changes.push(...changes)
    this.#rows.push(...written.map(row => (row && row.body.length <= MAX_BODY ? row : undefined)))
    // In larger steps: to move all for each commit would cost more than to keep twice as many.
    if (this.#changes.length <= 2 * MOST) return
    this.#changes = this.#changes.slice(-MOST)
    this.#rows = this.#rows.slice(-MOST)
  }

  clear(): void {
    this.#changes = []
    this.#rows = []
  }

  /** The changes; undefined if some of them may only be in the database. */
  changes(needed: Needed, limit: number): RowChange[] | undefined {
    const start = this.#startOf(needed)
    return start === undefined ? undefined : this.#changes.slice(start, start + limit)
  }

  /** The rows that the changes wrote; undefined if some of them may only be in the database. */
  rows(changes: readonly RowChange[], needed: Omit<Needed, 'after'>): Row[] | undefined {
    const rows: Row[] = []
    for (const { op, revision } of changes) {
      if (op === 'remove') continue
      const index = this.#startOf({ ...needed, after: revision - 1 })
      const row = index === undefined ? undefined : this.#rows[index]
      if (row === undefined) return undefined
      rows.push(row)
    }
    return rows
  }

  #startOf({ after, known, connections }: Needed): number | undefined {
    const [first, last] = [this.#changes[0]?.revision, this.#changes.at(-1)?.revision]
    if (first === undefined || last === undefined || connections !== this.#connections) return undefined
    return first > after + 1 || last < known ? undefined : after + 1 - first
  }

  #continuesWith([next]: readonly RowChange[]): boolean {
    const last = this.#changes.at(-1)
    return last === undefined || next === undefined || next.revision === last.revision + 1
  }
}
