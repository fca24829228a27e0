import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import type { RowChange, Store } from '#store/store.ts'

/** How soon changes of other servers are seen. */
const POLL_MS = 1000
const PAGE = 500

type ChangeListener = (change: RowChange) => void

/** Follows the changes of the store, by any server, while there are listeners. */
export class ChangeFeed {
  readonly #store: Store
  readonly #log: Log
  readonly #listeners = new Set<ChangeListener>()
  #revision: number | undefined
  #poll: NodeJS.Timeout | undefined
  #isReading = false
  #isStale = false

  constructor(store: Store, log: Log) {
    this.#store = store
    this.#log = log
    store.onCommit(() => this.#read())
  }

  /** Resolves when the position is known from which a listener gets all changes. */
  async ready(): Promise<void> {
    this.#revision ??= await this.#store.revision()
  }

  /** Calls back for each change from now on; returns how to stop. */
  listen(listener: ChangeListener): () => void {
    this.#listeners.add(listener)
    this.#poll ??= setInterval(() => this.#read(), POLL_MS)
    this.#read()
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      clearInterval(this.#poll)
      this.#poll = undefined
      this.#revision = undefined
    }
  }

  #read(): void {
    if (this.#listeners.size === 0) return
    this.#isStale = true
    if (this.#isReading) return
    this.#isReading = true
    void inBackground({ task: 'changes', log: this.#log }, () => this.#readAll()).finally(() => {
      this.#isReading = false
    })
  }

  async #readAll(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false
      await this.ready()
      const changes = await this.#store.changes(this.#revision ?? 0, PAGE)
      for (const change of changes) {
        this.#revision = change.revision
        for (const listener of this.#listeners) listener(change)
      }
      if (changes.length === PAGE) this.#isStale = true
    }
  }
}
