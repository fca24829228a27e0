import { Registry, type Counter, type Gauge } from '#base/metrics.ts'

/** What is counted of delivery. */
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
  const attempts = registry.counters('adit_event_attempts_total', 'Batches sent to destinations of events.', [
    'result',
  ])
  const events = registry.counters('adit_event_delivery_total', 'What became of events.', ['result'])
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
      'Events that subscriptions have yet to look at: changes and traffic.',
    ),
    failing: gauge('adit_event_deliveries_failing', 'Destinations of subscriptions that fail now.'),
    deadLetters: gauge('adit_event_dead_letters', 'Events that were given up and can be sent again.'),
    delivers: gauge(
      'adit_event_delivers',
      'Of the servers on one database, 1 at the one that delivers what was written to the outbox.',
    ),
  }
}
