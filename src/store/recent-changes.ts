import type { RowChange } from '#store/store.ts'

const MOST = 1000

/**
 * The latest changes of this process. Several readers follow each commit, and need no query for what they have not seen
 * yet. Only while no other process can write: an own change then always has the number after the last.
 */
export class RecentChanges {
  #changes: RowChange[] = []

  add(changes: readonly RowChange[]): void {
    this.#changes.push(...changes)
    // In larger steps: to move all for each commit would cost more than to keep twice as many.
    if (this.#changes.length > 2 * MOST) this.#changes = this.#changes.slice(-MOST)
  }

  clear(): void {
    this.#changes = []
  }

  /** Changes after a revision; undefined if some of them may only be in the database. */
  after(revision: number, limit: number): RowChange[] | undefined {
    const first = this.#changes[0]?.revision
    if (first === undefined || first > revision + 1) return undefined
    const start = revision + 1 - first
    return this.#changes.slice(start, start + limit)
  }
}
