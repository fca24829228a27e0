import type { RowChange } from '#store/store.ts'

const MOST = 1000

/**
 * The latest changes of this process, without gaps. Several readers follow each commit, and need no query for what they
 * have not seen yet.
 */
export class RecentChanges {
  #changes: RowChange[] = []
  #connections = 0

  /** `connections`: how many the engine had opened before the commit. */
  add(changes: readonly RowChange[], connections: number): void {
    if (connections !== this.#connections || !this.#continuesWith(changes)) this.#changes = []
    this.#connections = connections
    this.#changes.push(...changes)
    // In larger steps: to move all for each commit would cost more than to keep twice as many.
    if (this.#changes.length > 2 * MOST) this.#changes = this.#changes.slice(-MOST)
  }

  clear(): void {
    this.#changes = []
  }

  /**
   * Changes after a revision; undefined if some of them until the revision `known` may only be in the database, or if the
   * engine has opened a connection since: it may be to another server, which may lack the latest commits.
   */
  after(
    revision: number,
    limit: number,
    { known, connections }: { readonly known: number; readonly connections: number },
  ): RowChange[] | undefined {
    const [first, last] = [this.#changes[0]?.revision, this.#changes.at(-1)?.revision]
    if (first === undefined || last === undefined || connections !== this.#connections) return undefined
    if (first > revision + 1 || last < known) return undefined
    const start = revision + 1 - first
    return this.#changes.slice(start, start + limit)
  }

  #continuesWith([next]: readonly RowChange[]): boolean {
    const last = this.#changes.at(-1)
    return last === undefined || next === undefined || next.revision === last.revision + 1
  }
}
