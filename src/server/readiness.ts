import { statfs } from 'node:fs/promises'
import type { Degraded } from '#api/pages.ts'
import type { Uncaught } from '#base/last-resort.ts'
import { StoreError, type StoreErrorCode } from '#store/store-error.ts'
import type { Store } from '#store/store.ts'

/** Below this free space a change may fail. */
const MIN_FREE_BYTES = 1_048_576
/** A write tests whether writes work again, and anyone may query readiness. */
const TRY_EVERY_MS = 1000

interface ReadinessOptions {
  readonly store: Pick<Store, 'ping' | 'tryWrite'>
  /** The folder of a SQLite database; undefined for another one. */
  readonly folder: string | undefined
  readonly uncaught: () => Uncaught
  /** Other nodes should get new clients. */
  readonly isDraining?: () => boolean
}

/** Determines whether the server works, and what is impaired. */
export class Readiness {
  readonly #options: ReadinessOptions
  #refusal: WriteRefusal | undefined
  #triedAt = -Infinity

  constructor(options: ReadinessOptions) {
    this.#options = options
  }

  /** The database rejected a write. */
  writeRefused(refusal: WriteRefusal): void {
    this.#refusal = refusal
  }

  /** What is impaired while the server still works; rejects with the reason when it does not. */
  async check(): Promise<readonly Degraded[]> {
    if (this.#options.isDraining?.() === true) throw new Error('The node drains.')
    await this.#options.store.ping()
    const { count, last } = this.#options.uncaught()
    const refusal = await this.#writeRefusal()
    return [
      ...(refusal === undefined ? [] : [REFUSALS[refusal]]),
      ...(count > 0 ? [{ code: 'uncaught_error', message: uncaughtText(count, last ?? '') } as const] : []),
    ]
  }

  async #writeRefusal(): Promise<WriteRefusal | undefined> {
    const { folder } = this.#options
    if (folder !== undefined && (await freeBytes(folder)) < MIN_FREE_BYTES) return 'full'
    if (this.#refusal !== undefined) await this.#tryWrite()
    return this.#refusal
  }

  async #tryWrite(): Promise<void> {
    if (performance.now() - this.#triedAt < TRY_EVERY_MS) return
    this.#triedAt = performance.now()
    try {
      await this.#options.store.tryWrite()
      this.#refusal = undefined
    } catch (error) {
      if (!(error instanceof StoreError) || !isWriteRefusal(error.code)) throw error
      this.#refusal = error.code
    }
  }
}

/** Why a database that can be read rejects writes. */
export type WriteRefusal = 'full' | 'read_only'

export const isWriteRefusal = (code: StoreErrorCode): code is WriteRefusal => code in REFUSALS

const REFUSALS: Readonly<Record<WriteRefusal, Degraded>> = {
  full: {
    code: 'storage_full',
    message:
      'The database disk is full: reads and traffic work, changes are rejected with 507. Free some space; no restart is needed.',
  },
  read_only: {
    code: 'storage_read_only',
    message:
      'The database is read-only: reads and traffic work, changes are rejected with 503. If no failover is in progress, see its configuration; no restart is needed.',
  },
}

const uncaughtText = (count: number, last: string): string =>
  `${count} uncaught error${count === 1 ? '' : 's'} since the start, the last at ${last}. See the server log, and restart at a convenient time.`

/** If the system does not report it, a failing write does. */
async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch {
    return Infinity
  }
}
