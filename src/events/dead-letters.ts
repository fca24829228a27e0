import { randomPart } from '#base/ids.ts'
import type { OutgoingEvent } from '#events/destination.ts'
import type { Outcome, Row, Store, Write } from '#store/store.ts'

export const DEAD_LETTERS = 'event_dead_letter'

/** The oldest go when there are more. */
export const MOST_DEAD_LETTERS = 1000

/** An event that could not be delivered, and why. */
interface DeadLetterBody {
  readonly event: OutgoingEvent
  readonly reason: string
}

export interface DeadLetter {
  readonly row: Row
  readonly event: OutgoingEvent
}

/** How a lane commits: not at all when another server has taken it over. */
export type Commit = (writes: readonly Write[]) => Promise<Outcome>

/** The events that one lane could not deliver. */
export class DeadLetters {
  readonly #store: Store
  readonly #cursorId: string
  readonly #commit: Commit
  #count = 0

  constructor(store: Store, cursorId: string, commit: Commit = writes => store.commit(writes)) {
    this.#store = store
    this.#cursorId = cursorId
    this.#commit = commit
  }

  get count(): number {
    return this.#count
  }

  async load(): Promise<void> {
    this.#count = (await this.#rows()).length
  }

  async add(events: readonly OutgoingEvent[], reason: string): Promise<void> {
    const writes = events.slice(-MOST_DEAD_LETTERS).map(event => this.#insertion({ event, reason }))
    const outcome = await this.#commit(writes)
    // After a crash some are there already, and then the batch is refused as a whole.
    if (!outcome.ok) for (const write of writes) await this.#commit([write])
    await this.#trim()
  }

  /** Oldest first. */
  async list(): Promise<DeadLetter[]> {
    const rows = await this.#rows()
    return rows.toReversed().map(row => ({ row, event: (JSON.parse(row.body) as DeadLetterBody).event }))
  }

  async remove(letters: readonly Pick<DeadLetter, 'row'>[]): Promise<void> {
    await this.#commit(letters.map(({ row }) => removal(row)))
    await this.load()
  }

  #rows(): Promise<Row[]> {
    return this.#store.list(DEAD_LETTERS, { parent: this.#cursorId, limit: 2 * MOST_DEAD_LETTERS })
  }

  async #trim(): Promise<void> {
    const rows = await this.#rows()
    const surplus = rows.slice(MOST_DEAD_LETTERS)
    if (surplus.length > 0) await this.#commit(surplus.map(removal))
    this.#count = rows.length - surplus.length
  }

  #insertion(body: DeadLetterBody): Write {
    const row: Row = {
      // In the order of the events, and the same each time.
      id: `edl_${randomPart(body.event.id)}_${randomPart(this.#cursorId)}`,
      kind: DEAD_LETTERS,
      parent: this.#cursorId,
      version: 1,
      body: JSON.stringify(body),
    }
    return { op: 'insert', entry: { row, refs: [], claims: [] } }
  }
}

const removal = ({ id, version }: Row): Write => ({ op: 'remove', id, version })

/** The writes that remove all dead letters of a lane. */
export async function deadLetterRemovals(store: Store, cursorId: string): Promise<Write[]> {
  const rows = await store.list(DEAD_LETTERS, { parent: cursorId, limit: 2 * MOST_DEAD_LETTERS })
  return rows.map(removal)
}
