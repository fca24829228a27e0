import type { Sealer } from '#base/secrets.ts'
import { mapSecrets, type Body } from '#contract/body.ts'
import { eventTarget } from '#contract/kinds/event-target.ts'
import { eventDestination, eventSubscription } from '#contract/kinds/events.ts'
import type { Kept } from '#contract/shape.ts'
import { Cursor, cursorId, cursorRow, CURSORS, newCursor } from '#events/cursor.ts'
import { deadLetterRemovals } from '#events/dead-letters.ts'
import { DeliveryError, type Destination } from '#events/destination.ts'
import { Lane, type LaneParts } from '#events/lane.ts'
import type { Numbered } from '#events/outbox.ts'
import { noticeIn, wishOf, type Notice, type Wish } from '#events/subscription.ts'
import type { Row, Write } from '#store/store.ts'

export type Target = Kept<typeof eventTarget>

export interface LanesOptions extends LaneParts {
  readonly sealer: Sealer
  readonly build: (target: Target) => Destination
  /** The types that somebody wants have changed. */
  readonly onTypes: (types: ReadonlySet<string>) => void
}

/** The place up to which the outbox was looked through for changes of delivery itself. */
const READER = 'event_reader'
const PAGE = 1000

interface ReaderBody {
  readonly sequence: number
}

/** Every way from a subscription to a destination, kept as the outbox tells. */
export class Lanes {
  readonly #options: LanesOptions
  readonly #lanes = new Map<string, Lane>()
  #reader: { sequence: number; written: number; version: number } | undefined

  constructor(options: LanesOptions) {
    this.#options = options
  }

  get all(): readonly Lane[] {
    return [...this.#lanes.values()]
  }

  find(id: string): Lane | undefined {
    return this.#lanes.get(id)
  }

  /** Everything up to here was looked through. */
  get sequence(): number {
    return this.#reader?.sequence ?? 0
  }

  /** Nothing after this may be forgotten yet. */
  async needed(): Promise<number> {
    await Promise.all(this.all.map(lane => lane.settle()))
    if (this.sequence > (this.#reader?.written ?? 0)) await this.#commit([])
    return Math.min(this.sequence, ...this.all.map(lane => lane.position.written))
  }

  async start(): Promise<void> {
    const { store } = this.#options
    const row = await store.get(READER)
    if (row === undefined) await this.#begin(await store.lastSequence())
    else {
      const { sequence } = JSON.parse(row.body) as ReaderBody
      this.#reader = { sequence, written: sequence, version: row.version }
    }
    for (const cursor of await this.#rows(CURSORS)) await this.#resume(cursor)
    this.#tellTypes()
  }

  /** Takes in what the outbox says of subscriptions and destinations. */
  async read(): Promise<void> {
    const { outbox } = this.#options
    for (;;) {
      const page = await outbox.read(this.sequence)
      if (page.length === 0) return
      for (const event of page) await this.#take(event)
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map(lane => lane.close()))
    if (this.#reader && this.#reader.sequence > this.#reader.written)
      await this.#commit([]).catch(() => undefined)
  }

  /** Makes a destination as it is set now. */
  async open(destinationId: string): Promise<Destination> {
    const { store, sealer, build } = this.#options
    const row = await store.get(destinationId)
    if (row?.kind !== eventDestination.name) throw new DeliveryError('The destination was removed.')
    return build(openTarget(row, sealer))
  }

  /** The first start with events: subscriptions that are there count from now on. */
  async #begin(sequence: number): Promise<void> {
    this.#reader = { sequence, written: 0, version: 0 }
    const writes: Write[] = []
    for (const row of await this.#rows(eventSubscription.name)) {
      const wish = wishOf(JSON.parse(row.body) as Parameters<typeof wishOf>[0])
      for (const destination of wish.destinationIds) writes.push(cursorInsertion(wish, destination, sequence))
    }
    await this.#commit(writes)
  }

  async #resume(row: Row): Promise<void> {
    const { store } = this.#options
    const cursor = new Cursor(store, row)
    const subscription = await store.get(cursor.body.subscription_id)
    if (subscription?.kind !== eventSubscription.name) return this.#commit(await this.#removal(row))
    const wish = wishOf(JSON.parse(subscription.body) as Parameters<typeof wishOf>[0])
    this.#add(cursor, wish.types)
  }

  async #take(event: Numbered): Promise<void> {
    const notice = noticeIn(event)
    if (notice !== undefined) await this.#apply(notice, event.sequence)
    if (this.#reader) this.#reader.sequence = event.sequence
  }

  async #apply(notice: Notice, sequence: number): Promise<void> {
    if (notice.is === 'destination') {
      for (const lane of this.all) if (lane.destinationId === notice.id) lane.reload()
      return
    }
    const wish =
      notice.is === 'subscription'
        ? notice.wish
        : { id: notice.id, types: new Set<string>(), destinationIds: [] }
    const kept = new Set(wish.destinationIds.map(destination => cursorId(wish.id, destination)))
    const gone = this.all.filter(({ id, subscriptionId }) => subscriptionId === wish.id && !kept.has(id))
    for (const lane of gone) await this.#remove(lane)
    for (const destination of wish.destinationIds) await this.#keep(wish, destination, sequence)
    this.#tellTypes()
  }

  async #keep(wish: Wish, destinationId: string, sequence: number): Promise<void> {
    const { store } = this.#options
    const id = cursorId(wish.id, destinationId)
    const known = this.#lanes.get(id)
    if (known) return known.want(wish.types)
    // Refused when it is there already: then an earlier start has made it and got no further.
    await store.commit([cursorInsertion(wish, destinationId, sequence)])
    const row = await store.get(id)
    if (row) this.#add(new Cursor(store, row), wish.types)
  }

  #add(cursor: Cursor, types: ReadonlySet<string>): void {
    const { destination_id: destinationId } = cursor.body
    const lane = new Lane({ ...this.#options, cursor, types, open: () => this.open(destinationId) })
    this.#lanes.set(lane.id, lane)
  }

  async #remove(lane: Lane): Promise<void> {
    this.#lanes.delete(lane.id)
    await lane.close(0)
    const row = await this.#options.store.get(lane.id)
    if (row) await this.#options.store.commit(await this.#removal(row))
  }

  async #removal({ id, version }: Row): Promise<Write[]> {
    return [...(await deadLetterRemovals(this.#options.store, id)), { op: 'remove', id, version }]
  }

  /** Writes down how far the outbox was looked through, together with what follows from that. */
  async #commit(writes: readonly Write[]): Promise<void> {
    const reader = this.#reader
    if (!reader) return
    const { sequence } = reader
    const body: ReaderBody = { sequence }
    const version = reader.version + 1
    const row = { id: READER, kind: READER, parent: null, version, body: JSON.stringify(body) }
    const op = version === 1 ? 'insert' : 'update'
    const outcome = await this.#options.store.commit([
      ...writes,
      { op, entry: { row, refs: [], claims: [] } },
    ])
    if (outcome.ok) Object.assign(reader, { version, written: sequence })
    else reader.version = (await this.#options.store.get(READER))?.version ?? 0
  }

  #tellTypes(): void {
    this.#options.onTypes(new Set(this.all.flatMap(({ types }) => [...types])))
  }

  async #rows(kind: string): Promise<Row[]> {
    const rows: Row[] = []
    for (;;) {
      const before = rows.at(-1)?.id
      const page = await this.#options.store.list(kind, {
        limit: PAGE,
        ...(before !== undefined && { before }),
      })
      rows.push(...page)
      if (page.length < PAGE) return rows
    }
  }
}

function cursorInsertion(wish: Wish, destinationId: string, sequence: number): Write {
  const body = newCursor(wish.id, destinationId, { sequence, sources: [...wish.types] })
  return { op: 'insert', entry: { row: cursorRow(body, 1), refs: [], claims: [] } }
}

function openTarget(row: Row, sealer: Sealer): Target {
  const body = mapSecrets(eventDestination.shape, JSON.parse(row.body) as Body, text =>
    sealer.unseal(text, row.id),
  )
  return body['target'] as Target
}
