import { derivedId } from '#base/ids.ts'
import type { Row, Store } from '#store/store.ts'

export const CURSORS = 'event_cursor'

/** How far the events of one subscription have come at one destination. */
export interface CursorBody {
  readonly subscription_id: string
  readonly destination_id: string
  /** Everything up to here is delivered, or was not wanted. */
  readonly sequence: number
  /** The types that were wanted at that place. */
  readonly sources: readonly string[]
  /** RFC 3339, as are all times here; null while all is well. */
  readonly failing_since: string | null
  readonly last_success_at: string | null
  readonly last_error: string | null
  readonly last_error_at: string | null
}

export const newCursor = (
  subscriptionId: string,
  destinationId: string,
  { sequence, sources }: Pick<CursorBody, 'sequence' | 'sources'>,
): CursorBody => ({
  subscription_id: subscriptionId,
  destination_id: destinationId,
  sequence,
  sources,
  failing_since: null,
  last_success_at: null,
  last_error: null,
  last_error_at: null,
})

/** One for each destination of a subscription; it follows from both, so that there cannot be two. */
export const cursorId = (subscriptionId: string, destinationId: string): string =>
  derivedId('edv', subscriptionId, destinationId)

/** A cursor's row. It refers to nothing: subscriptions and destinations can be removed whatever it says. */
export const cursorRow = (body: CursorBody, version: number): Row => ({
  id: cursorId(body.subscription_id, body.destination_id),
  kind: CURSORS,
  parent: null,
  version,
  body: JSON.stringify(body),
})

/** A cursor in the store, written by one lane alone. */
export class Cursor {
  readonly id: string
  readonly #store: Store
  #body: CursorBody
  #version: number
  #last: Promise<unknown> = Promise.resolve()

  constructor(store: Store, row: Row) {
    this.#store = store
    this.id = row.id
    this.#version = row.version
    this.#body = JSON.parse(row.body) as CursorBody
  }

  get body(): CursorBody {
    return this.#body
  }

  /** Resolves to false when it was removed. Writes take effect one after another. */
  write(changes: Partial<CursorBody>): Promise<boolean> {
    const written = this.#last.then(() => this.#write({ ...this.#body, ...changes }))
    this.#last = written.catch(() => undefined)
    return written
  }

  async #write(body: CursorBody): Promise<boolean> {
    for (;;) {
      const row = cursorRow(body, this.#version + 1)
      const outcome = await this.#store.commit([{ op: 'update', entry: { row, refs: [], claims: [] } }])
      if (outcome.ok) {
        this.#version++
        this.#body = body
        return true
      }
      // A write that seemed to fail may have been made all the same.
      const found = await this.#store.get(this.id)
      if (found === undefined) return false
      this.#version = found.version
    }
  }
}
