import { statfs } from 'node:fs/promises'
import type { Degraded } from '#api/pages.ts'
import type { Uncaught } from '#base/last-resort.ts'
import { StoreError } from '#store/store-error.ts'
import type { Store } from '#store/store.ts'

/** Below this the database can no longer be relied on to take a change. */
const MIN_FREE_BYTES = 1_048_576
/** A full disk is tried with a write, and anybody may ask whether the server is ready. */
const TRY_EVERY_MS = 1000

export interface ReadinessOptions {
  readonly store: Pick<Store, 'ping' | 'tryWrite'>
  /** The folder of a database in a file; undefined where the database is elsewhere. */
  readonly folder: string | undefined
  readonly uncaught: () => Uncaught
}

/** Says whether the server can do its work, and what of it is impaired. */
export class Readiness {
  readonly #options: ReadinessOptions
  #isFull = false
  #triedAt = -Infinity

  constructor(options: ReadinessOptions) {
    this.#options = options
  }

  /** The database had no space left for a write. */
  storeFull(): void {
    this.#isFull = true
  }

  /** What is impaired while the server still serves; rejects with what is missing while it cannot. */
  async check(): Promise<readonly Degraded[]> {
    await this.#options.store.ping()
    const { count, last } = this.#options.uncaught()
    return [
      ...((await this.#hasSpace()) ? [] : [FULL]),
      ...(count > 0 ? [{ code: 'uncaught_error', message: uncaughtText(count, last ?? '') } as const] : []),
    ]
  }

  async #hasSpace(): Promise<boolean> {
    const { folder } = this.#options
    if (folder !== undefined && (await freeBytes(folder)) < MIN_FREE_BYTES) return false
    return !this.#isFull || (await this.#tryWrite())
  }

  async #tryWrite(): Promise<boolean> {
    if (performance.now() - this.#triedAt < TRY_EVERY_MS) return false
    this.#triedAt = performance.now()
    try {
      await this.#options.store.tryWrite()
      this.#isFull = false
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'full') throw error
    }
    return !this.#isFull
  }
}

const FULL: Degraded = {
  code: 'storage_full',
  message:
    'The disk of the database is full: reading and traffic work, changes are rejected with 507. Free some space; no restart is needed.',
}

const uncaughtText = (count: number, last: string): string =>
  `${count} uncaught error${count === 1 ? '' : 's'} since the start, the last at ${last}. See the log of the server, and restart it when that suits.`

/** Where the system does not tell, a write that fails does. */
async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch {
    return Infinity
  }
}
