import { guarded } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import type { EventSource } from '#contract/events/source.ts'
import { eventSubscription } from '#contract/kinds/events.ts'
import type { OutgoingEvent } from '#events/destination.ts'
import { rowsOf } from '#store/rows-of.ts'
import type { Store } from '#store/store.ts'

/** What a subscription selects. */
export interface SubscriptionSpec {
  readonly id: string
  readonly sources: readonly EventSource[]
  readonly types: ReadonlySet<string>
  readonly destinationIds: readonly string[]
}

interface StoredSubscription {
  readonly id: string
  readonly sources?: readonly EventSource[]
  /** Ids as stored, and Refs as in events. */
  readonly destinations?: readonly (string | { readonly id: string })[]
}

/** A subscription as stored, or as in an event. */
export const subscriptionSpec = ({
  id,
  sources = [],
  destinations = [],
}: StoredSubscription): SubscriptionSpec => ({
  id,
  sources,
  types: new Set(sources.map(({ type }) => type)),
  destinationIds: destinations.map(each => (typeof each === 'string' ? each : each.id)),
})

/** The same of all in the store. An unreadable one is skipped, and the others are served. */
export async function subscriptionSpecs(store: Store, log: Log): Promise<SubscriptionSpec[]> {
  const subscriptions: SubscriptionSpec[] = []
  for await (const { id, body } of rowsOf(store, eventSubscription.name))
    guarded({ task: 'events', log, failed: 'an event subscription cannot be read', about: { id } }, () =>
      subscriptions.push(subscriptionSpec(JSON.parse(body) as StoredSubscription)),
    )
  return subscriptions
}

const SUBSCRIPTION = 'event_subscription_'
const DESTINATION = 'event_destination_'

export type ConfigEvent =
  | { readonly is: 'subscription'; readonly subscription: SubscriptionSpec }
  | { readonly is: 'destination'; readonly id: string }

/**
 * An event about subscriptions themselves. They are in the outbox among all others, so they define exactly from which
 * event on a source applies.
 */
export function parseConfigEvent({ type, body }: OutgoingEvent): ConfigEvent | undefined {
  const ours = type.startsWith(SUBSCRIPTION) || type.startsWith(DESTINATION)
  if (!ours) return undefined
  const { object } = JSON.parse(body) as { readonly object: StoredSubscription }
  if (type.startsWith(DESTINATION)) return { is: 'destination', id: object.id }
  // A deleted one selects nothing.
  const subscription = subscriptionSpec(
    type.startsWith(`${SUBSCRIPTION}deleted`) ? { id: object.id } : object,
  )
  return { is: 'subscription', subscription }
}
