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
  /** Requests that come at once share the work. */
  #applying: { readonly revision: number; readonly done: Promise<void> } | undefined

  constructor(store: Store) {
    this.#store = store
  }

  keeps<Kept extends RowCache>(memory: Kept): Kept {
    this.#caches.push(memory)
    return memory
  }

  /** Undefined if there is nothing to wait for. */
  catchUp(): Promise<void> | undefined {
    const known = this.#revision
    const revision = this.#store.revision()
    return revision === known ? undefined : this.#reach(known, revision)
  }

  async #reach(known: number, latest: Promise<number> | number): Promise<void> {
    const revision = await latest
    // Another request may have applied it in the meantime.
    if (revision === known || (revision > known && revision <= this.#revision)) return
    if (this.#applying === undefined || this.#applying.revision < revision) {
      const applying = { revision, done: this.#apply(known, revision) }
      this.#applying = applying
      const end = (): void => {
        if (this.#applying === applying) this.#applying = undefined
      }
      applying.done.then(end, end)
    }
    await this.#applying.done
  }

  async #apply(known: number, revision: number): Promise<void> {
    const changes = await this.#store.changes(known, MAX_CHANGES, revision)
    const complete = changes[0]?.revision === known + 1 && changes.length >= revision - known
    const kinds = complete ? new Set(changes.map(change => change.kind)) : [undefined]
    for (const kind of kinds) for (const cache of this.#caches) cache.invalidate(kind)
    this.#revision = Math.max(this.#revision, revision)
  }
}
