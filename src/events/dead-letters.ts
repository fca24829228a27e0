import { lowestId, randomPart } from '#base/ids.ts'
import { SerialQueue } from '#base/serial-queue.ts'
import type { OutgoingEvent } from '#events/destination.ts'
import {
  DEAD_LETTER_PAGE,
  DeadLetterCursor,
  type DeadLetter,
  type DeadLetterBody,
} from '#events/dead-letter-cursor.ts'
import type { CommitOutcome, Row, Store, Write } from '#store/store.ts'

export const DEAD_LETTERS = 'event_dead_letter'
const PREFIX = 'edl'

/** The delivery's commit: rejected when another server has taken over. */
type FencedCommit = (writes: readonly Write[]) => Promise<CommitOutcome>

/** The undelivered events of one delivery. They are in the audit log, so none is dropped, however many there are. */
export class DeadLetters {
  readonly #store: Store
  readonly #cursorId: string
  readonly #commit: FencedCommit
  /** The count is right only without concurrent writes. */
  readonly #queue = new SerialQueue()
  #count = 0

  constructor(store: Store, cursorId: string, commit: FencedCommit = writes => store.commit(writes)) {
    this.#store = store
    this.#cursorId = cursorId
    this.#commit = commit
  }

  get count(): number {
    return this.#count
  }

  /** Counts them again: the oldest are pruned with the audit log, by any server. */
  load(): Promise<void> {
    return this.#queue.run(() => this.#recount())
  }

  add(events: readonly OutgoingEvent[], reason: string): Promise<void> {
    return this.#queue.run(async () => {
      for (let at = 0; at < events.length; at += DEAD_LETTER_PAGE) {
        const page = events.slice(at, at + DEAD_LETTER_PAGE)
        await this.#write(
          page.map(event => this.#insertion({ event, reason })),
          1,
        )
      }
    })
  }

  remove(deadLetters: readonly Pick<DeadLetter, 'row'>[]): Promise<void> {
    const writes = deadLetters.map(({ row }) => removal(row))
    return this.#queue.run(() => this.#write(writes, -1))
  }

  /** Goes through all that there are now. */
  async cursor(): Promise<DeadLetterCursor> {
    const [newest] = await this.#page(undefined, 1)
    return new DeadLetterCursor((before, limit) => this.#page(before, limit), newest?.id ?? '')
  }

  #page(before: string | undefined, limit = DEAD_LETTER_PAGE): Promise<Row[]> {
    const page = { parent: this.#cursorId, limit, ...(before !== undefined && { before }) }
    return this.#store.list(DEAD_LETTERS, page)
  }

  async #write(writes: readonly Write[], each: 1 | -1): Promise<void> {
    const outcome = await this.#commit(writes)
    if (outcome.ok) {
      this.#count += each * writes.length
      return
    }
    // After a crash some may exist already, or be deleted, and then the batch is rejected as a whole.
    for (const write of writes) await this.#commit([write])
    await this.#recount()
  }

  async #recount(): Promise<void> {
    let count = 0
    let page: Row[] = []
    do {
      page = await this.#page(page.at(-1)?.id)
      count += page.length
    } while (page.length === DEAD_LETTER_PAGE)
    this.#count = count
  }

  #insertion(body: DeadLetterBody): Write {
    const row: Row = {
      // In the order of the events, and reproducible.
      id: `${PREFIX}_${randomPart(body.event.id)}_${randomPart(this.#cursorId)}`,
      kind: DEAD_LETTERS,
      parent: this.#cursorId,
      version: 1,
      body: JSON.stringify(body),
    }
    return { op: 'insert', entry: { row, refs: [], claims: [] } }
  }
}

const removal = ({ id, version }: Row): Write => ({ op: 'remove', id, version })

/**
 * Deletes the dead letters of a removed delivery except for the last few: those are written with the removal itself.
 */
export async function lastDeadLetters(
  store: Store,
  cursorId: string,
  commit: FencedCommit,
): Promise<Write[]> {
  for (;;) {
    const rows = await store.list(DEAD_LETTERS, { parent: cursorId, limit: DEAD_LETTER_PAGE })
    if (rows.length < DEAD_LETTER_PAGE) return rows.map(removal)
    // Rejected when some were deleted meanwhile: then there are fewer the next time.
    await commit(rows.map(removal))
  }
}

/** Deletes the dead letters of events before a time, of all deliveries. */
export async function pruneDeadLetters(store: Store, before: number): Promise<void> {
  for (let from = lowestId(PREFIX, before); ;) {
    const rows = await store.list(DEAD_LETTERS, { before: from, limit: DEAD_LETTER_PAGE })
    const last = rows.at(-1)
    if (last === undefined) return
    const outcome = await store.commit(rows.map(removal))
    // Another server may delete the same, or a delivery may have sent some of them.
    if (!outcome.ok) for (const row of rows) await store.commit([removal(row)])
    from = last.id
  }
}
