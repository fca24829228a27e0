import type { Store } from '#store/store.ts'

/** More changes than this at once, and it is cheaper to forget everything. */
const MAX_CHANGES = 1000

/** Something remembered that follows from rows of the store. */
export interface Memory {
  /** Forgets what follows from rows of this kind; of any kind when it is undefined. */
  forget(kind: string | undefined): void
}

/**
 * Keeps memories true: before each call it asks the store how far it is, and has everything forgotten that
 * follows from what changed since, here or in another process. So a change acts on the very next call.
 */
export class ChangeWatch {
  readonly #store: Store
  readonly #memories: Memory[] = []
  #revision = -1

  constructor(store: Store) {
    this.#store = store
  }

  keeps<Kept extends Memory>(memory: Kept): Kept {
    this.#memories.push(memory)
    return memory
  }

  async catchUp(): Promise<void> {
    const known = this.#revision
    const revision = await this.#store.revision()
    if (revision === known) return
    const changes = await this.#store.changes(known, MAX_CHANGES)
    const complete = changes[0]?.revision === known + 1 && changes.length >= revision - known
    const kinds = complete ? new Set(changes.map(change => change.kind)) : [undefined]
    for (const kind of kinds) for (const memory of this.#memories) memory.forget(kind)
    this.#revision = Math.max(this.#revision, revision)
  }
}
