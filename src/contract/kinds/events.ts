import { description, kind, metadata } from '#contract/kind.ts'
import { eventTarget } from '#contract/kinds/event-target.ts'
import { line, listOf, object } from '#contract/schema.ts'
import { fixed, input, nested, refs, required } from '#contract/shape.ts'
import { eventDestinations } from '#contract/targets.ts'

export const eventDestination = kind({
  name: 'event_destination',
  doc: 'Where events are sent.',
  prefix: 'ed',
  path: '/event_destinations',
  listKey: 'event_destinations',
  inUse: 'destination_in_use',
  fields: {
    metadata: metadata(),
    description: description(),
    format: input(
      line({ default: 'json', pattern: '^[Jj][Ss][Oo][Nn]$', refusal: 'event_format' }),
      'How events are written; only json.',
    ),
    target: required(nested(eventTarget, 'The one place they are sent to.')),
  },
})

const eventType = line({ maxBytes: 255, refusal: 'event_type' })

export const eventSubscription = kind({
  name: 'event_subscription',
  doc: 'Sends the events of its sources to its destinations.',
  prefix: 'esb',
  path: '/event_subscriptions',
  listKey: 'event_subscriptions',
  fields: {
    metadata: metadata(),
    description: description(),
    sources: {
      ...input(listOf(object({ type: eventType })), 'The types of events it triggers on.'),
      read: listOf(object({ type: line(), uri: line() })),
    },
    destinations: refs(eventDestinations, 'destination_ids'),
  },
})

export const eventSource = kind({
  name: 'event_source',
  doc: 'One type of event that a subscription triggers on.',
  path: '/event_subscriptions/{subscription_id}/sources',
  listKey: 'sources',
  key: 'type',
  parent: { kind: 'event_subscription', param: 'subscription_id' },
  event: false,
  without: ['created_at'],
  fields: { type: required(fixed(input(eventType, 'The event type, such as ip_policy_created.v0.'))) },
})
