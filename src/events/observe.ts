import type { Health } from '#events/cursor.ts'
import type { Lane } from '#events/lane.ts'
import type { DeliveryMetrics } from '#events/metrics.ts'

export interface Observed {
  readonly lanes: () => readonly Lane[]
  readonly latest: () => number
  readonly delivers: () => boolean
  readonly now: () => number
}

/** Lets gauges tell how it stands. What another server delivers is told by that one. */
export function observe(metrics: DeliveryMetrics, { lanes, latest, delivers, now }: Observed): void {
  const sum = (of: (lane: Lane) => number): number => lanes().reduce((total, lane) => total + of(lane), 0)
  const times = (of: (health: Health) => string | null): number[] =>
    lanes().flatMap(({ health }) => {
      const time = of(health)
      return time === null ? [] : [Date.parse(time)]
    })
  const newest = (all: readonly number[]): number =>
    all.reduce((one, other) => Math.max(one, other), 0) / 1000
  const longest = (since: readonly number[]): number =>
    since.reduce((most, each) => Math.max(most, now() - each), 0) / 1000
  metrics.waiting.from(() => sum(({ changes }) => (changes ? Math.max(0, latest() - changes.sequence) : 0)))
  metrics.deadLetters.from(() => sum(({ changes }) => changes?.deadLetters ?? 0))
  metrics.failing.from(() => times(health => health.failing_since).length)
  metrics.failingFor.from(() => longest(times(health => health.failing_since)))
  metrics.lastSuccess.from(() => newest(times(health => health.last_success_at)))
  metrics.lastError.from(() => newest(times(health => health.last_error_at)))
  metrics.delivers.from(() => (delivers() ? 1 : 0))
}
