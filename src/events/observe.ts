import type { FamilySnapshot, Snapshot } from '#base/metrics.ts'
import type { Lane } from '#events/lane.ts'
import type { DeliveryMetrics } from '#events/metrics.ts'

export interface Observed {
  readonly lanes: () => readonly Lane[]
  readonly latest: () => number
  readonly delivers: () => boolean
}

/** Of more deliveries than these only totals are told: each is three lines of metrics. */
const MOST_LANES = 200

/** Lets gauges tell how it stands. What another server delivers is told by that one. */
export function observe(metrics: DeliveryMetrics, { lanes, latest, delivers }: Observed): void {
  const sum = (of: (lane: Lane) => number): number => lanes().reduce((total, lane) => total + of(lane), 0)
  metrics.waiting.from(() =>
    sum(
      ({ changes, trafficWaiting }) =>
        trafficWaiting + (changes ? Math.max(0, latest() - changes.sequence) : 0),
    ),
  )
  metrics.deadLetters.from(() => sum(({ changes }) => changes?.deadLetters ?? 0))
  metrics.failing.from(() => sum(({ health }) => (health.failing_since === null ? 0 : 1)))
  metrics.delivers.from(() => (delivers() ? 1 : 0))
}

/** How it goes with each delivery by itself, so that one that works does not hide one that does not. */
export function laneMetrics(lanes: readonly Lane[], now: number): Snapshot {
  const told = lanes.toSorted((one, other) => (one.id < other.id ? -1 : 1)).slice(0, MOST_LANES)
  const seconds = (time: string | null): number => (time === null ? 0 : Date.parse(time) / 1000)
  const family = (name: string, help: string, of: (lane: Lane) => number): FamilySnapshot => ({
    name,
    help,
    type: 'gauge',
    merge: 'max',
    labels: ['subscription', 'destination'],
    bounds: [],
    samples: told.map(lane => ({
      labels: [lane.subscriptionId, lane.destinationId],
      value: of(lane),
      counts: [],
    })),
  })
  return [
    family(
      'adit_event_failing_seconds',
      'For how long the destination of a subscription has been failing; 0 while it does not.',
      ({ health: { failing_since: since } }) =>
        since === null ? 0 : Math.max(0, now / 1000 - seconds(since)),
    ),
    family(
      'adit_event_last_success_timestamp_seconds',
      'When the destination of a subscription last took events; 0 for never.',
      ({ health }) => seconds(health.last_success_at),
    ),
    family(
      'adit_event_last_error_timestamp_seconds',
      'When the destination of a subscription last failed to take events; 0 for never.',
      ({ health }) => seconds(health.last_error_at),
    ),
  ]
}
