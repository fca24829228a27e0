import { filterableNames, trafficTypes } from '#contract/events/field-names.ts'
import { description, kind, metadata, owner } from '#contract/kind.ts'
import { eventTarget } from '#contract/kinds/event-target.ts'
import {
  also,
  integer,
  line,
  listOf,
  moment,
  nullable,
  number,
  object,
  partly,
  text,
} from '#contract/schema.ts'
import { computed, immutable, input, refs, required, shownRef, omitWhenUnset } from '#contract/shape.ts'
import { nested } from '#contract/shape-schema.ts'
import { eventDestinations } from '#contract/targets.ts'

export const eventDestination = kind({
  name: 'event_destination',
  doc: 'A target that events are sent to.',
  prefix: 'ed',
  path: '/event_destinations',
  listKey: 'event_destinations',
  inUse: 'destination_in_use',
  actions: {
    test: { method: 'POST', path: '/test', doc: 'Sends a test event of type test.v0.' },
  },
  fields: {
    metadata: metadata(),
    description: description(),
    owner_id: owner(),
    format: input(
      line({ default: 'json', pattern: '^[Jj][Ss][Oo][Nn]$', refusal: 'event_format' }),
      'Event format; only json.',
    ),
    target: required(nested(eventTarget, 'The target; exactly one key is set.')),
  },
})

const eventType = line({ maxBytes: 255, refusal: 'event_type' })
const fieldNames = listOf(line({ maxBytes: 255 }), { maxItems: 64 })
const filter = text({ maxBytes: 4096 })

const fieldsDoc = `Fields of events of this type, at most 64, such as conn.client_ip; only for ${trafficTypes.join(' and ')}. Empty selects the default fields.`
const filterDoc = `Only events for which this CEL expression over ev is true are sent, such as ev.conn.server_port == 443 && ev.conn.server_name.matches("^api[.]"). It can use ${filterableNames('http_request_complete.v0').join(', ')}. An event without a value that the filter needs is not sent.`

/** Optional fields of a source inside its subscription; responses omit unset ones. */
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
      ...input(listOf(object({ type: eventType, ...chosen })), 'The event types that it sends.'),
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
    subscription_id: { doc: 'Only deliveries of the event subscription with this id.' },
    destination_id: { doc: 'Only deliveries to the event destination with this id.' },
  },
  actions: {
    replay: {
      method: 'POST',
      path: '/replay',
      doc: 'Sends its dead letters again, oldest first, and all waiting events.',
    },
  },
  fields: {
    subscription: shownRef(),
    destination: shownRef(),
    last_success_at: aMoment('When the destination last accepted events.'),
    failing_since: aMoment('Null while the destination accepts them.'),
    last_error: computed(nullable(line()), 'The last error of the destination.'),
    last_error_at: aMoment('When that error occurred.'),
    next_try_at: aMoment('Time of the next retry; null while it works.'),
    attempts: computed(
      listOf(
        object({
          at: moment(),
          events: integer(0, 1e12),
          error: nullable(text()),
          duration_ms: number(0, 1e12),
        }),
      ),
      'The last 20 attempts of this server since its start, newest first: the number of events, the error of the destination (null if it accepted them), and how long it took.',
    ),
    waiting: computed(
      integer(0, 1e12),
      'Events that are not processed yet: changes in the outbox, and traffic of this server.',
    ),
    dead_letters: computed(
      integer(0, 1e12),
      'Events that were rejected permanently, or could not be delivered for a day.',
    ),
  },
})

export const eventSource = kind({
  name: 'event_source',
  doc: 'One event type of a subscription.',
  path: '/event_subscriptions/{subscription_id}/sources',
  listKey: 'sources',
  key: 'type',
  parent: { kind: 'event_subscription', param: 'subscription_id' },
  event: false,
  without: ['created_at'],
  fields: {
    type: required(immutable(input(eventType, 'The event type, such as ip_policy_created.v0.'))),
    fields: omitWhenUnset(input(fieldNames, fieldsDoc)),
    filter: omitWhenUnset(input(filter, filterDoc)),
  },
})
