import { filterableNames, trafficTypes } from '#contract/events/field-names.ts'
import { description, kind, metadata, owner } from '#contract/kind.ts'
import { eventTarget } from '#contract/kinds/event-target.ts'
import { also, integer, line, listOf, moment, nullable, object, partly, text } from '#contract/schema.ts'
import { computed, fixed, input, nested, refs, required, shownRef, sparse } from '#contract/shape.ts'
import { eventDestinations } from '#contract/targets.ts'

export const eventDestination = kind({
  name: 'event_destination',
  doc: 'Where events are sent.',
  prefix: 'ed',
  path: '/event_destinations',
  listKey: 'event_destinations',
  inUse: 'destination_in_use',
  actions: {
    test: { method: 'POST', path: '/test', doc: 'Sends an event of type test.v0 to it.' },
  },
  fields: {
    metadata: metadata(),
    description: description(),
    owner_id: owner(),
    format: input(
      line({ default: 'json', pattern: '^[Jj][Ss][Oo][Nn]$', refusal: 'event_format' }),
      'How events are written; only json.',
    ),
    target: required(nested(eventTarget, 'The one place they are sent to.')),
  },
})

const eventType = line({ maxBytes: 255, refusal: 'event_type' })
const fieldNames = listOf(line({ maxBytes: 255 }), { maxItems: 64 })
const filter = text({ maxBytes: 4096 })

const fieldsDoc = `Which fields events of this type tell, at most 64, such as conn.client_ip; only for ${trafficTypes.join(' and ')}. Without them the usual ones are told, never none.`
const filterDoc = `Only events of which this is true are sent: a CEL expression over ev, such as ev.conn.server_port == 443 && ev.conn.server_name.matches("^api[.]"). It can ask for ${filterableNames('http_request_complete.v0').join(', ')}. An event that lacks a value without which it cannot be decided is not sent.`

/** What a source inside its subscription may choose; answers leave out what it does not. */
const chosen = {
  fields: partly(also(fieldNames, { description: fieldsDoc })),
  filter: partly(also(filter, { description: filterDoc })),
}

export const eventSubscription = kind({
  name: 'event_subscription',
  doc: 'Sends the events of its sources to its destinations.',
  prefix: 'esb',
  path: '/event_subscriptions',
  listKey: 'event_subscriptions',
  fields: {
    metadata: metadata(),
    description: description(),
    owner_id: owner(),
    sources: {
      ...input(listOf(object({ type: eventType, ...chosen })), 'The types of events it triggers on.'),
      read: listOf(object({ type: line(), uri: line(), ...chosen })),
    },
    destinations: refs(eventDestinations, 'destination_ids'),
  },
})

const aMoment = (doc: string) => computed(nullable(moment()), doc)

export const eventDelivery = kind({
  name: 'event_delivery',
  doc: 'Delivery status of a subscription at one of its destinations.',
  prefix: 'edv',
  path: '/event_deliveries',
  listKey: 'event_deliveries',
  verbs: ['get', 'list'],
  live: true,
  event: false,
  without: ['created_at'],
  filters: {
    subscription_id: { doc: 'Only those of the event subscription with this id.' },
    destination_id: { doc: 'Only those to the event destination with this id.' },
  },
  actions: {
    replay: {
      method: 'POST',
      path: '/replay',
      doc: 'Sends its dead letters again, oldest first, and whatever waits.',
    },
  },
  fields: {
    subscription: shownRef(),
    destination: shownRef(),
    last_success_at: aMoment('When the destination last took events.'),
    failing_since: aMoment('Null while the destination takes them.'),
    last_error: computed(nullable(line()), 'What the destination said last when it did not.'),
    last_error_at: aMoment('When that was.'),
    next_try_at: aMoment('When it is tried again; null while it works.'),
    waiting: computed(
      integer(0, 1e12),
      'Events that it has yet to look at: changes in the outbox, and traffic that this server has seen.',
    ),
    dead_letters: computed(
      integer(0, 1e12),
      'Events that were refused for good, or could not be delivered for a day.',
    ),
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
  fields: {
    type: required(fixed(input(eventType, 'The event type, such as ip_policy_created.v0.'))),
    fields: sparse(input(fieldNames, fieldsDoc)),
    filter: sparse(input(filter, filterDoc)),
  },
})
