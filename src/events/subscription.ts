import { guarded } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import type { EventSource } from '#contract/events/source.ts'
import type { OutgoingEvent } from '#events/destination.ts'
import type { Row } from '#store/store.ts'

/** What a subscription asks for. */
export interface Wish {
  readonly id: string
  readonly sources: readonly EventSource[]
  readonly types: ReadonlySet<string>
  readonly destinationIds: readonly string[]
}

interface Told {
  readonly id: string
  readonly sources?: readonly EventSource[]
  /** Ids as stored, and Refs as in events. */
  readonly destinations?: readonly (string | { readonly id: string })[]
}

/** A subscription as stored, or as in an event. */
export const wishOf = ({ id, sources = [], destinations = [] }: Told): Wish => ({
  id,
  sources,
  types: new Set(sources.map(({ type }) => type)),
  destinationIds: destinations.map(each => (typeof each === 'string' ? each : each.id)),
})

/** The same from rows. An unreadable one is skipped, and the others are served. */
export function wishesIn(rows: readonly Row[], log: Log): Wish[] {
  const wishes: Wish[] = []
  for (const { id, body } of rows)
    guarded({ task: 'events', log, failed: 'an event subscription cannot be read', about: { id } }, () =>
      wishes.push(wishOf(JSON.parse(body) as Told)),
    )
  return wishes
}

const SUBSCRIPTION = 'event_subscription_'
const DESTINATION = 'event_destination_'

export type Notice =
  { readonly is: 'subscription'; readonly wish: Wish } | { readonly is: 'destination'; readonly id: string }

/**
 * An event about subscriptions themselves. They are in the outbox among all others, so they define exactly from which
 * event on a source applies.
 */
export function noticeIn({ type, body }: OutgoingEvent): Notice | undefined {
  const ours = type.startsWith(SUBSCRIPTION) || type.startsWith(DESTINATION)
  if (!ours) return undefined
  const { object } = JSON.parse(body) as { readonly object: Told }
  if (type.startsWith(DESTINATION)) return { is: 'destination', id: object.id }
  // A deleted one selects nothing.
  const wish = wishOf(type.startsWith(`${SUBSCRIPTION}deleted`) ? { id: object.id } : object)
  return { is: 'subscription', wish }
}
