import { setImmediate as nextTurn } from 'node:timers/promises'
import { StoreError } from '#store/store-error.ts'
import type { CommitOutcome, Write } from '#store/store.ts'

type Batch = readonly Write[]

interface QueuedBatch {
  readonly batch: Batch
  readonly resolve: (outcome: CommitOutcome) => void
  readonly reject: (error: unknown) => void
}

/** Beyond it the database is too slow for its callers: failing is better than growing. */
const MAX_WAITING = 10_000
const MAX_GROUP = 256

/**
 * Lets many batches share one transaction, so that one flush to disk serves them all: those of the same turn
 * of the event loop, and those that arrive while the group before them is being committed.
 */
export class GroupCommit {
  readonly #run: (batches: readonly Batch[]) => Promise<readonly CommitOutcome[]>
  readonly #waiting: QueuedBatch[] = []
  #working: Promise<void> | undefined
  #closed = false

  /** `run` commits all batches in one transaction and resolves to their outcomes in the same order. */
  constructor(run: (batches: readonly Batch[]) => Promise<readonly CommitOutcome[]>) {
    this.#run = run
  }

  commit(batch: Batch): Promise<CommitOutcome> {
    if (this.#closed) return Promise.reject(new StoreError('unavailable', 'The store is closed.'))
    if (this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(new StoreError('unavailable', 'Too many writes are waiting for the database.'))
    }
    const { promise, resolve, reject } = Promise.withResolvers<CommitOutcome>()
    this.#waiting.push({ batch, resolve, reject })
    this.#working ??= this.#work()
    return promise
  }

  /** Accepts no more batches and resolves when the accepted ones are settled. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#working
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      await nextTurn()
      await this.#settle(this.#waiting.splice(0, MAX_GROUP))
    }
    this.#working = undefined
  }

  async #settle(group: readonly QueuedBatch[]): Promise<void> {
    try {
      const outcomes = await this.#run(group.map(waiting => waiting.batch))
      for (const [index, outcome] of outcomes.entries()) group[index]?.resolve(outcome)
    } catch (error) {
      if (group.length > 1 && concernsOneBatch(error)) {
        for (const waiting of group) await this.#settle([waiting])
        return
      }
      for (const waiting of group) waiting.reject(error)
    }
  }
}

/** Data that the database cannot store fails the transaction; the other batches must not be affected. */
const concernsOneBatch = (error: unknown): boolean =>
  !(error instanceof StoreError) || error.code === 'unusable'
