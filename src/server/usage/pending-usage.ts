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

const OTHER_KEY = `${OTHER_SERIES} ${OTHER_SERIES}`

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
  /** The latency of the usage that is being added. */
  readonly #latency = new LatencyHistogram()

  /** `now` is in seconds since 1970. A clock that steps back adds to an earlier period. */
  add(usage: readonly SeriesUsage[], now: number): void {
    // Where not all have room, the busiest have.
    const busiest = usage.toSorted((one, other) => other.requests - one.requests)
    for (const dimension of usageDimensions) {
      const added = busiest.filter(({ by }) => by === dimension)
      if (added.length === 0) continue
      const periods = bounds.map(bound => this.#periodOf(bound, now, dimension))
      for (const each of added) this.#addTo(periods, each)
      for (const bound of bounds) this.#drop(bound, dimension)
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

  #addTo(periods: readonly Period[], usage: SeriesUsage): void {
    const key = `${usage.owner} ${usage.name}`
    this.#latency.clear()
    this.#latency.mergeEncoded(usage.latency)
    for (const period of periods) {
      const entry = entryOf(period, key, usage)
      entry.requests += usage.requests
      entry.errors += usage.errors
      entry.bytesIn += usage.bytesIn
      entry.bytesOut += usage.bytesOut
      entry.latency.merge(this.#latency)
    }
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

/** The entry of a series, or the one of all others where there is no room. */
function entryOf({ entries, limits }: Period, key: string, { owner, name }: SeriesUsage): Entry {
  const known = entries.get(key)
  if (known !== undefined) return known
  const hasRoom = entries.size < limits.series
  const made = hasRoom
    ? newEntry(owner, name)
    : (entries.get(OTHER_KEY) ?? newEntry(OTHER_SERIES, OTHER_SERIES))
  entries.set(hasRoom ? key : OTHER_KEY, made)
  return made
}

const newEntry = (owner: string, series: string): Entry => ({
  owner,
  series,
  requests: 0,
  errors: 0,
  bytesIn: 0,
  bytesOut: 0,
  latency: new LatencyHistogram(),
})
