import type { Store } from '#store/store.ts'

/** Beyond this many changes at once, clearing everything is cheaper. */
const MAX_CHANGES = 1000

/** A cache derived from rows of the store. */
export interface RowCache {
  /** Drops entries derived from rows of this kind; of any kind when it is undefined. */
  invalidate(kind: string | undefined): void
}

/**
 * Keeps caches valid: before each request it reads the store's revision, and invalidates everything derived from
 * changes since, by any process. So a change takes effect on the next request.
 */
export class ChangeWatch {
  readonly #store: Store
  readonly #caches: RowCache[] = []
  #revision = -1

  constructor(store: Store) {
    this.#store = store
  }

  keeps<Kept extends RowCache>(memory: Kept): Kept {
    this.#caches.push(memory)
    return memory
  }

  async catchUp(): Promise<void> {
    const known = this.#revision
    const revision = await this.#store.revision()
    if (revision === known) return
    const changes = await this.#store.changes(known, MAX_CHANGES)
    const complete = changes[0]?.revision === known + 1 && changes.length >= revision - known
    const kinds = complete ? new Set(changes.map(change => change.kind)) : [undefined]
    for (const kind of kinds) for (const cache of this.#caches) cache.invalidate(kind)
    this.#revision = Math.max(this.#revision, revision)
  }
}
