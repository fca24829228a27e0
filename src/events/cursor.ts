import { derivedId } from '#base/ids.ts'
import { SerialQueue } from '#base/serial-queue.ts'
import { leaseLost } from '#events/leader-lease.ts'
import { CONFLICT, retryOnConflict } from '#store/optimistic.ts'
import type { CommitOutcome, Row, Store, Write } from '#store/store.ts'

export const CURSORS = 'event_cursor'

/** The health of a destination. Times are RFC 3339. */
export interface Health {
  /** Null while all is well. */
  readonly failing_since: string | null
  readonly last_success_at: string | null
  readonly last_error: string | null
  readonly last_error_at: string | null
  /** When it is tried again; null while all is well. */
  readonly next_try_at: string | null
}

/** The position of one subscription's events at one destination. */
export interface CursorBody extends Health {
  readonly subscription_id: string
  readonly destination_id: string
  /** Everything up to here is delivered, or was not selected. */
  readonly sequence: number
  /** The types that were selected at that position. */
  readonly sources: readonly string[]
  readonly dead_letters: number
  /** The epoch of the leader that wrote it. */
  readonly epoch: number
}

export const unknownHealth: Health = {
  failing_since: null,
  last_success_at: null,
  last_error: null,
  last_error_at: null,
  next_try_at: null,
}

export const newCursor = (
  subscriptionId: string,
  destinationId: string,
  begin: Pick<CursorBody, 'sequence' | 'sources' | 'epoch'>,
): CursorBody => ({
  subscription_id: subscriptionId,
  destination_id: destinationId,
  dead_letters: 0,
  ...unknownHealth,
  ...begin,
})

/** One for each destination of a subscription; derived from both, so that there cannot be two. */
export const cursorId = (subscriptionId: string, destinationId: string): string =>
  derivedId('edv', subscriptionId, destinationId)

/** A cursor's row. It refers to nothing, so that subscriptions and destinations can be deleted. */
export const cursorRow = (body: CursorBody, version: number): Row => ({
  id: cursorId(body.subscription_id, body.destination_id),
  kind: CURSORS,
  parent: null,
  version,
  body: JSON.stringify(body),
})

/** Rows of an earlier release have fewer fields. */
export const cursorBody = ({ body }: Pick<Row, 'body'>): CursorBody =>
  ({ ...unknownHealth, dead_letters: 0, epoch: 0, ...JSON.parse(body) }) as CursorBody

/**
 * A cursor held by this server. Each write names the last seen version, and taking a cursor over raises it: so a server
 * that lost its lease without knowing it writes nothing more.
 */
export class DeliveryCursor {
  readonly id: string
  readonly #store: Store
  readonly #queue = new SerialQueue()
  #body: CursorBody
  #version: number

  private constructor(store: Store, row: Pick<Row, 'id' | 'version'>, body: CursorBody) {
    this.#store = store
    this.id = row.id
    this.#version = row.version
    this.#body = body
  }

  /** Undefined when there is none, or another server has taken it over. */
  static take(store: Store, id: string, epoch: number): Promise<DeliveryCursor | undefined> {
    const attempt = async (): Promise<DeliveryCursor | undefined | typeof CONFLICT> => {
      const row = await store.get(id)
      const known = row && cursorBody(row)
      if (!known || known.epoch > epoch) return undefined
      if (known.epoch === epoch) return new DeliveryCursor(store, row, known)
      const body = { ...known, epoch }
      const taken = cursorRow(body, row.version + 1)
      const outcome = await store.commit([updateOf(taken)])
      return outcome.ok ? new DeliveryCursor(store, taken, body) : CONFLICT
    }
    return retryOnConflict(attempt, () => undefined)
  }

  get body(): CursorBody {
    return this.#body
  }

  /** Serialized writes. Rejects with `LeaseLost` when another server has it, or it was deleted. */
  write(changes: Partial<CursorBody>): Promise<void> {
    return this.#queue.run(async () => {
      const body = { ...this.#body, ...changes }
      await this.#fenced(() => [updateOf(cursorRow(body, this.#version + 1))])
      this.#version++
      this.#body = body
    })
  }

  /** Commits writes of the delivery, unless another server has taken it over. */
  commit(writes: readonly Write[]): Promise<CommitOutcome> {
    return this.#queue.run(() =>
      this.#fenced(() => [...writes, { op: 'expect', id: this.id, version: this.#version }]),
    )
  }

  #fenced(batch: () => readonly Write[]): Promise<CommitOutcome> {
    const attempt = async (): Promise<CommitOutcome | typeof CONFLICT> => {
      const outcome = await this.#store.commit(batch())
      if (outcome.ok || outcome.refusal.reason !== 'stale' || outcome.refusal.id !== this.id) return outcome
      // A write that seemed to fail may have been committed.
      const found = await this.#store.get(this.id)
      if (!found || cursorBody(found).epoch !== this.#body.epoch) return leaseLost()
      this.#version = found.version
      return CONFLICT
    }
    return retryOnConflict(attempt, leaseLost)
  }
}

const updateOf = (row: Row): Write => ({ op: 'update', entry: { row, refs: [], claims: [] } })
