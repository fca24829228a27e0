import { cursorBody, newCursor, type CursorBody, type Health } from '#events/cursor.ts'
import { mergedHealth } from '#events/health.ts'
import type { Lane } from '#events/lane.ts'
import type { Outbox } from '#events/outbox.ts'
import type { Store } from '#store/store.ts'

/** The state of one delivery. */
export interface Delivery extends Health {
  readonly id: string
  readonly subscription_id: string
  readonly destination_id: string
  readonly dead_letters: number
  /** Changes, and traffic of this server, that are not processed yet. */
  readonly waiting: number
}

/** Filters; all without any of these. */
export type DeliveryFilter = Partial<Pick<Delivery, 'id' | 'subscription_id' | 'destination_id'>>

export const isMeant = (lane: Lane, only: DeliveryFilter): boolean =>
  lane.id === (only.id ?? lane.id) &&
  lane.subscriptionId === (only.subscription_id ?? lane.subscriptionId) &&
  lane.destinationId === (only.destination_id ?? lane.destinationId)

export interface DeliveriesOptions {
  readonly store: Store
  readonly outbox: Outbox
  /** Everything up to here was seen by this server. */
  readonly latest: number
}

/** Delivery states: those of another leader are read from the store. */
export async function deliveriesOf(lanes: readonly Lane[], options: DeliveriesOptions): Promise<Delivery[]> {
  const others = lanes.filter(({ changes }) => changes === undefined).map(({ id }) => id)
  const rows = others.length === 0 ? [] : await options.store.getMany(others)
  const written = new Map(rows.map(row => [row.id, cursorBody(row)]))
  return Promise.all(lanes.map(lane => deliveryOf(lane, written.get(lane.id), options)))
}

async function deliveryOf(
  lane: Lane,
  written: CursorBody | undefined,
  options: DeliveriesOptions,
): Promise<Delivery> {
  const { id, subscriptionId, destinationId, health, changes, trafficWaiting } = lane
  const common = { id, subscription_id: subscriptionId, destination_id: destinationId }
  if (changes) {
    const waiting = trafficWaiting + Math.max(0, options.latest - changes.sequence)
    return { ...common, ...health, dead_letters: changes.deadLetters, waiting }
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
  { outbox, latest }: DeliveriesOptions,
): Promise<number> {
  if (sequence >= latest || since !== null) return Math.max(0, latest - sequence)
  const page = await outbox.read(sequence)
  const first = page.findIndex(({ type }) => sources.includes(type))
  const looked = first < 0 ? (page.at(-1)?.sequence ?? latest) : (page[first]?.sequence ?? latest) - 1
  return Math.max(0, latest - looked)
}
