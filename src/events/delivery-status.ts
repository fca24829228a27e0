import type { DeliveryAttempt } from '#events/attempts.ts'
import { cursorBody, newCursor, type CursorBody, type Health } from '#events/cursor.ts'
import { mergedHealth } from '#events/health.ts'
import type { Delivery } from '#events/delivery.ts'
import type { Outbox } from '#events/outbox.ts'
import type { Store } from '#store/store.ts'

/** The state of one delivery. */
export interface DeliveryStatus extends Health {
  readonly id: string
  readonly subscription_id: string
  readonly destination_id: string
  readonly dead_letters: number
  /** Of this server. */
  readonly attempts: readonly DeliveryAttempt[]
  /** Changes, and traffic of this server, that are not processed yet. */
  readonly waiting: number
}

/** Filters; all without any of these. */
export type DeliveryFilter = Partial<Pick<DeliveryStatus, 'id' | 'subscription_id' | 'destination_id'>>

export const isMeant = (delivery: Delivery, only: DeliveryFilter): boolean =>
  delivery.id === (only.id ?? delivery.id) &&
  delivery.subscriptionId === (only.subscription_id ?? delivery.subscriptionId) &&
  delivery.destinationId === (only.destination_id ?? delivery.destinationId)

interface DeliveryStatusOptions {
  readonly store: Store
  readonly outbox: Outbox
  /** Everything up to here was seen by this server. */
  readonly latest: number
}

/** Delivery states: those of another leader are read from the store. */
export async function deliveryStatuses(
  deliveries: readonly Delivery[],
  options: DeliveryStatusOptions,
): Promise<DeliveryStatus[]> {
  const others = deliveries.filter(({ outboxDelivery }) => outboxDelivery === undefined).map(({ id }) => id)
  const rows = others.length === 0 ? [] : await options.store.getMany(others)
  const written = new Map(rows.map(row => [row.id, cursorBody(row)]))
  return Promise.all(deliveries.map(delivery => statusOf(delivery, written.get(delivery.id), options)))
}

async function statusOf(
  delivery: Delivery,
  written: CursorBody | undefined,
  options: DeliveryStatusOptions,
): Promise<DeliveryStatus> {
  const { id, subscriptionId, destinationId, health, attempts, outboxDelivery, trafficWaiting } = delivery
  const common = { id, subscription_id: subscriptionId, destination_id: destinationId, attempts }
  if (outboxDelivery) {
    const waiting = trafficWaiting + Math.max(0, options.latest - outboxDelivery.sequence)
    return { ...common, ...health, dead_letters: outboxDelivery.deadLetters, waiting }
  }
  const begin = { sequence: options.latest, sources: [], epoch: 0 }
  const body = written ?? newCursor(subscriptionId, destinationId, begin)
  return {
    ...common,
    ...mergedHealth(health, body),
    dead_letters: body.dead_letters,
    waiting: trafficWaiting + (await waitingAfter(body, options)),
  }
}

/**
 * The position is not stored for each skipped event, so those are excluded. A failing delivery has stopped where it is
 * stored.
 */
async function waitingAfter(
  { sequence, sources, failing_since: since }: CursorBody,
  { outbox, latest }: DeliveryStatusOptions,
): Promise<number> {
  if (sequence >= latest || since !== null) return Math.max(0, latest - sequence)
  const page = await outbox.read(sequence)
  const first = page.findIndex(({ type }) => sources.includes(type))
  const looked = first < 0 ? (page.at(-1)?.sequence ?? latest) : (page[first]?.sequence ?? latest) - 1
  return Math.max(0, latest - looked)
}
