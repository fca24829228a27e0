import { Registry, type Counter, type Gauge } from '#base/metrics.ts'

/** Delivery metrics. */
export interface DeliveryMetrics {
  readonly registry: Registry
  readonly attempts: { readonly sent: Counter; readonly failed: Counter }
  readonly events: { readonly delivered: Counter; readonly dead: Counter; readonly dropped: Counter }
  readonly waiting: Gauge
  readonly failing: Gauge
  readonly deadLetters: Gauge
  readonly delivers: Gauge
}

export function deliveryMetrics(): DeliveryMetrics {
  const registry = new Registry()
  const attempts = registry.counters('adit_event_attempts_total', 'Batches sent to event destinations.', [
    'result',
  ])
  const events = registry.counters('adit_event_delivery_total', 'Events, by result.', ['result'])
  const gauge = (name: string, help: string): Gauge => registry.gauge(name, help)
  return {
    registry,
    attempts: { sent: attempts.with('sent'), failed: attempts.with('failed') },
    events: {
      delivered: events.with('delivered'),
      dead: events.with('dead_letter'),
      dropped: events.with('dropped'),
    },
    waiting: gauge(
      'adit_event_queue_depth',
      'Events that subscriptions have not processed yet: changes and traffic.',
    ),
    failing: gauge('adit_event_deliveries_failing', 'Currently failing destinations.'),
    deadLetters: gauge('adit_event_dead_letters', 'Undelivered events that can be replayed.'),
    delivers: gauge(
      'adit_event_delivers',
      '1 on the server that sends change events, of all servers on one database.',
    ),
  }
}
