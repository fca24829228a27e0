import { inBackground } from '#base/background.ts'
import type { Sealer } from '#base/secrets.ts'
import { mapSecrets, type ResourceBody } from '#contract/body.ts'
import { eventTarget } from '#contract/kinds/event-target.ts'
import { eventDestination } from '#contract/kinds/events.ts'
import type { Stored } from '#contract/shape.ts'
import { cursorId } from '#events/cursor.ts'
import { DeliveryError, type Destination } from '#events/destination.ts'
import { Delivery, type DeliveryParts, type WantedEvents } from '#events/delivery.ts'
import { TrafficFilter } from '#events/traffic-filter.ts'
import {
  parseConfigEvent,
  subscriptionSpecs,
  subscriptionSpec,
  type ConfigEvent,
  type SubscriptionSpec,
} from '#events/subscription.ts'
import type { Row } from '#store/store.ts'

export type StoredTarget = Stored<typeof eventTarget>

interface DeliveriesOptions extends DeliveryParts {
  readonly sealer: Sealer
  readonly build: (target: StoredTarget) => Destination
  /** The traffic selection has changed: the needed fields of each event type. */
  readonly onWanted: (wanted: ReadonlyMap<string, ReadonlySet<string>>) => void
}

/** All deliveries, maintained from the outbox. Each server has all of them. */
export class Deliveries {
  readonly #options: DeliveriesOptions
  readonly #deliveries = new Map<string, Delivery>()
  #sequence = 0

  constructor(options: DeliveriesOptions) {
    this.#options = options
  }

  get all(): readonly Delivery[] {
    return [...this.#deliveries.values()]
  }

  find(id: string): Delivery | undefined {
    return this.#deliveries.get(id)
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
        const notice = parseConfigEvent(event)
        if (notice !== undefined) await this.#apply(notice)
        this.#sequence = event.sequence
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map(delivery => delivery.close()))
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
    const subscriptions = await subscriptionSpecs(store, log)
    const there = new Set(subscriptions.map(({ id }) => id))
    const gone = new Set(this.all.map(delivery => delivery.subscriptionId).filter(id => !there.has(id)))
    for (const id of gone) await this.#follow(subscriptionSpec({ id }))
    for (const subscription of subscriptions)
      await inBackground({ task: 'events', log, about: { subscription: subscription.id } }, () =>
        this.#follow(subscription),
      )
    this.#reportWanted()
  }

  async #apply(event: ConfigEvent): Promise<void> {
    if (event.is === 'destination') {
      for (const delivery of this.all) if (delivery.destinationId === event.id) delivery.reload()
      return
    }
    await this.#follow(event.subscription)
    this.#reportWanted()
  }

  async #follow(subscription: SubscriptionSpec): Promise<void> {
    const { id, sources, types, destinationIds } = subscription
    const kept = new Set(destinationIds.map(destination => cursorId(id, destination)))
    for (const delivery of this.all)
      if (delivery.subscriptionId === id && !kept.has(delivery.id)) {
        await delivery.close(0)
        this.#deliveries.delete(delivery.id)
      }
    if (destinationIds.length === 0) return
    const wanted = { types, filter: new TrafficFilter(sources, this.#options.log) }
    for (const destination of destinationIds) this.#want(id, destination, wanted)
  }

  #want(subscriptionId: string, destinationId: string, wanted: WantedEvents): void {
    const known = this.#deliveries.get(cursorId(subscriptionId, destinationId))
    if (known) return known.want(wanted)
    const open = (): Promise<Destination> => this.open(destinationId)
    const delivery = new Delivery({ ...this.#options, subscriptionId, destinationId, wanted, open })
    this.#deliveries.set(delivery.id, delivery)
  }

  #reportWanted(): void {
    const wanted = new Map<string, Set<string>>()
    for (const { filter } of this.all)
      for (const [type, fields] of filter.requiredFields)
        wanted.set(type, (wanted.get(type) ?? new Set()).union(fields))
    this.#options.onWanted(wanted)
  }
}

function openTarget(row: Row, sealer: Sealer): StoredTarget {
  const body = mapSecrets(eventDestination.shape, JSON.parse(row.body) as ResourceBody, text =>
    sealer.unseal(text, row.id),
  )
  return body['target'] as StoredTarget
}
