import { LatencyHistogram } from '#base/latency-histogram.ts'
import { OTHER_SERIES, usageDimensions } from '#contract/usage.ts'
import { DAY, HOUR, MINUTE, type Resolution, type UsageAddition, type SeriesLimits } from '#store/usage.ts'
import type { SeriesUsage } from '#telemetry/usage/series-usage.ts'

/** Of each resolution: how many series a period has, and how many periods wait while the store is unavailable. */
const bounds = [
  { resolution: MINUTE, series: 250, periods: 30 },
  { resolution: HOUR, series: 500, periods: 24 },
  { resolution: DAY, series: 1000, periods: 3 },
] as const

type Bound = (typeof bounds)[number]

/** The most series of one owner, so that others have some too. */
const SHARE = 0.75

const limitsOf = (series: number): SeriesLimits => ({
  series,
  seriesOfOwner: Math.floor(series * SHARE),
  other: OTHER_SERIES,
})

interface Period {
  readonly resolution: Resolution
  readonly start: number
  readonly dimension: SeriesUsage['by']
  readonly limits: SeriesLimits
  readonly entries: Map<string, Entry>
}

interface Entry {
  readonly owner: string
  readonly series: string
  requests: number
  errors: number
  bytesIn: number
  bytesOut: number
  readonly latency: LatencyHistogram
}

/** Usage that is not stored yet, by period. */
export class PendingUsage {
  /** Oldest first. */
  readonly #periods = new Map<string, Period>()

  /** `now` is in seconds since 1970. A clock that steps back adds to an earlier period. */
  add(usage: readonly SeriesUsage[], now: number): void {
    // Where not all have room, the busiest have.
    const busiest = usage.toSorted((one, other) => other.requests - one.requests)
    for (const bound of bounds) {
      for (const each of busiest) addTo(this.#periodOf(bound, now, each.by), each)
      for (const dimension of usageDimensions) this.#drop(bound, dimension)
    }
  }

  take(): Omit<UsageAddition, 'writer' | 'number'> | undefined {
    for (const [key, period] of this.#periods) {
      this.#periods.delete(key)
      const entries = Array.from(period.entries.values(), entry => ({
        ...entry,
        latency: entry.latency.encode(),
      }))
      return { ...period, entries }
    }
    return undefined
  }

  #periodOf({ resolution, series }: Bound, now: number, dimension: SeriesUsage['by']): Period {
    const start = Math.floor(now / resolution) * resolution
    const key = `${resolution} ${dimension} ${start}`
    const known = this.#periods.get(key)
    if (known !== undefined) return known
    const made = { resolution, start, dimension, limits: limitsOf(series), entries: new Map<string, Entry>() }
    this.#periods.set(key, made)
    return made
  }

  /** Longer periods have the same counts, so that only details are dropped before anything is lost. */
  #drop({ resolution, periods }: Bound, dimension: SeriesUsage['by']): void {
    const waiting = [...this.#periods].filter(
      ([, period]) => period.resolution === resolution && period.dimension === dimension,
    )
    for (const [key] of waiting.slice(0, Math.max(0, waiting.length - periods))) this.#periods.delete(key)
  }
}

function addTo({ entries, limits }: Period, usage: SeriesUsage): void {
  const { owner, name, requests, errors, bytesIn, bytesOut, latency } = usage
  const key = `${owner} ${name}`
  const isKnown = entries.has(key) || entries.size < limits.series
  const series = isKnown ? name : OTHER_SERIES
  const place = isKnown ? owner : OTHER_SERIES
  const entry = entries.get(`${place} ${series}`) ?? {
    owner: place,
    series,
    requests: 0,
    errors: 0,
    bytesIn: 0,
    bytesOut: 0,
    latency: new LatencyHistogram(),
  }
  entries.set(`${place} ${series}`, entry)
  entry.requests += requests
  entry.errors += errors
  entry.bytesIn += bytesIn
  entry.bytesOut += bytesOut
  entry.latency.mergeEncoded(latency)
}
