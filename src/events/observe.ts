import type { FamilySnapshot, Snapshot } from '#base/metrics.ts'
import type { Delivery } from '#events/delivery.ts'
import type { DeliveryMetrics } from '#events/metrics.ts'

interface Observed {
  readonly deliveries: () => readonly Delivery[]
  readonly latest: () => number
  readonly delivers: () => boolean
}

/** Beyond this many deliveries only totals are exported: each is three lines of metrics. */
const MAX_DELIVERIES = 200

/** Exports delivery gauges. Another leader exports its own. */
export function observe(metrics: DeliveryMetrics, { deliveries, latest, delivers }: Observed): void {
  const sum = (of: (delivery: Delivery) => number): number =>
    deliveries().reduce((total, delivery) => total + of(delivery), 0)
  metrics.waiting.from(() =>
    sum(
      ({ outboxDelivery, trafficWaiting }) =>
        trafficWaiting + (outboxDelivery ? Math.max(0, latest() - outboxDelivery.sequence) : 0),
    ),
  )
  metrics.deadLetters.from(() => sum(({ outboxDelivery }) => outboxDelivery?.deadLetters ?? 0))
  metrics.failing.from(() => sum(({ health }) => (health.failing_since === null ? 0 : 1)))
  metrics.delivers.from(() => (delivers() ? 1 : 0))
}

/** Per delivery, so that a working one does not hide a failing one. */
export function metricsPerDelivery(deliveries: readonly Delivery[], now: number): Snapshot {
  const shown = deliveries.toSorted((one, other) => (one.id < other.id ? -1 : 1)).slice(0, MAX_DELIVERIES)
  const seconds = (time: string | null): number => (time === null ? 0 : Date.parse(time) / 1000)
  const family = (name: string, help: string, of: (delivery: Delivery) => number): FamilySnapshot => ({
    name,
    help,
    type: 'gauge',
    merge: 'max',
    labels: ['subscription', 'destination'],
    bounds: [],
    samples: shown.map(delivery => ({
      labels: [delivery.subscriptionId, delivery.destinationId],
      value: of(delivery),
      counts: [],
    })),
  })
  return [
    family(
      'adit_event_failing_seconds',
      'How long the destination of a subscription has been failing; 0 while it works.',
      ({ health: { failing_since: since } }) =>
        since === null ? 0 : Math.max(0, now / 1000 - seconds(since)),
    ),
    family(
      'adit_event_last_success_timestamp_seconds',
      'When the destination of a subscription last accepted events; 0 for never.',
      ({ health }) => seconds(health.last_success_at),
    ),
    family(
      'adit_event_last_error_timestamp_seconds',
      'When the destination of a subscription last failed; 0 for never.',
      ({ health }) => seconds(health.last_error_at),
    ),
  ]
}
