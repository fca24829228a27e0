import { inBackground } from '#base/background.ts'
import type { Sealer } from '#base/secrets.ts'
import { mapSecrets, type Body } from '#contract/body.ts'
import { eventTarget } from '#contract/kinds/event-target.ts'
import { eventDestination, eventSubscription } from '#contract/kinds/events.ts'
import type { Kept } from '#contract/shape.ts'
import { cursorId } from '#events/cursor.ts'
import { DeliveryError, type Destination } from '#events/destination.ts'
import { Lane, type LaneParts, type Wanted } from '#events/lane.ts'
import { allRows } from '#events/rows.ts'
import { Sieve } from '#events/sieve.ts'
import { noticeIn, wishesIn, wishOf, type Notice, type Wish } from '#events/subscription.ts'
import type { Row } from '#store/store.ts'

export type Target = Kept<typeof eventTarget>

export interface LanesOptions extends LaneParts {
  readonly sealer: Sealer
  readonly build: (target: Target) => Destination
  /** The traffic selection has changed: the needed fields of each event type. */
  readonly onWanted: (wanted: ReadonlyMap<string, ReadonlySet<string>>) => void
}

/** All deliveries, maintained from the outbox. Each server has all of them. */
export class Lanes {
  readonly #options: LanesOptions
  readonly #lanes = new Map<string, Lane>()
  #sequence = 0

  constructor(options: LanesOptions) {
    this.#options = options
  }

  get all(): readonly Lane[] {
    return [...this.#lanes.values()]
  }

  find(id: string): Lane | undefined {
    return this.#lanes.get(id)
  }

  /** Everything up to here was processed. */
  get sequence(): number {
    return this.#sequence
  }

  async start(): Promise<void> {
    const sequence = await this.#options.store.lastSequence()
    await this.#sync()
    this.#sequence = sequence
  }

  /** Applies the outbox's changes of subscriptions and destinations. */
  async read(): Promise<void> {
    for (;;) {
      const page = await this.#options.outbox.read(this.#sequence)
      if (page.length === 0) return
      for (const event of page) {
        // The events in between were pruned.
        if (event.sequence !== this.#sequence + 1) await this.#sync()
        const notice = noticeIn(event)
        if (notice !== undefined) await this.#apply(notice)
        this.#sequence = event.sequence
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map(lane => lane.close()))
  }

  /** Builds a destination from its current configuration. */
  async open(destinationId: string): Promise<Destination> {
    const { store, sealer, build } = this.#options
    const row = await store.get(destinationId)
    if (row?.kind !== eventDestination.name) throw new DeliveryError('The destination was removed.')
    return build(openTarget(row, sealer))
  }

  /** Reads the subscriptions themselves. */
  async #sync(): Promise<void> {
    const { store, log } = this.#options
    const wishes = wishesIn(await allRows(store, eventSubscription.name), log)
    const there = new Set(wishes.map(({ id }) => id))
    const gone = new Set(this.all.map(lane => lane.subscriptionId).filter(id => !there.has(id)))
    for (const id of gone) await this.#follow(wishOf({ id }))
    for (const wish of wishes)
      await inBackground({ task: 'events', log, about: { subscription: wish.id } }, () => this.#follow(wish))
    this.#tellWanted()
  }

  async #apply(notice: Notice): Promise<void> {
    if (notice.is === 'destination') {
      for (const lane of this.all) if (lane.destinationId === notice.id) lane.reload()
      return
    }
    await this.#follow(notice.wish)
    this.#tellWanted()
  }

  async #follow(wish: Wish): Promise<void> {
    const { id, sources, types, destinationIds } = wish
    const kept = new Set(destinationIds.map(destination => cursorId(id, destination)))
    for (const lane of this.all)
      if (lane.subscriptionId === id && !kept.has(lane.id)) {
        await lane.close(0)
        this.#lanes.delete(lane.id)
      }
    if (destinationIds.length === 0) return
    const wanted = { types, sieve: new Sieve(sources, this.#options.log) }
    for (const destination of destinationIds) this.#want(id, destination, wanted)
  }

  #want(subscriptionId: string, destinationId: string, wanted: Wanted): void {
    const known = this.#lanes.get(cursorId(subscriptionId, destinationId))
    if (known) return known.want(wanted)
    const open = (): Promise<Destination> => this.open(destinationId)
    const lane = new Lane({ ...this.#options, subscriptionId, destinationId, wanted, open })
    this.#lanes.set(lane.id, lane)
  }

  #tellWanted(): void {
    const wanted = new Map<string, Set<string>>()
    for (const { sieve } of this.all)
      for (const [type, fields] of sieve.needs)
        wanted.set(type, (wanted.get(type) ?? new Set()).union(fields))
    this.#options.onWanted(wanted)
  }
}

function openTarget(row: Row, sealer: Sealer): Target {
  const body = mapSecrets(eventDestination.shape, JSON.parse(row.body) as Body, text =>
    sealer.unseal(text, row.id),
  )
  return body['target'] as Target
}
