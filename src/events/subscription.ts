import type { EventSource } from '#contract/events/source.ts'
import type { OutgoingEvent } from '#events/destination.ts'

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
  /** Ids as they are kept, and Refs as events tell them. */
  readonly destinations?: readonly (string | { readonly id: string })[]
}

/** A subscription as it is kept, or as an event shows it. */
export const wishOf = ({ id, sources = [], destinations = [] }: Told): Wish => ({
  id,
  sources,
  types: new Set(sources.map(({ type }) => type)),
  destinationIds: destinations.map(each => (typeof each === 'string' ? each : each.id)),
})

/** The same from its row. */
export const wishIn = ({ body }: { readonly body: string }): Wish => wishOf(JSON.parse(body) as Told)

const SUBSCRIPTION = 'event_subscription_'
const DESTINATION = 'event_destination_'

export type Notice =
  { readonly is: 'subscription'; readonly wish: Wish } | { readonly is: 'destination'; readonly id: string }

/**
 * What an event says about delivery itself. As these stand in the outbox among all others, they tell exactly from which
 * event on a source counts.
 */
export function noticeIn({ type, body }: OutgoingEvent): Notice | undefined {
  const ours = type.startsWith(SUBSCRIPTION) || type.startsWith(DESTINATION)
  if (!ours) return undefined
  const { object } = JSON.parse(body) as { readonly object: Told }
  if (type.startsWith(DESTINATION)) return { is: 'destination', id: object.id }
  // One that is gone wants nothing any more.
  const wish = wishOf(type.startsWith(`${SUBSCRIPTION}deleted`) ? { id: object.id } : object)
  return { is: 'subscription', wish }
}
