import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Call } from '#api/call.ts'
import { seriesNames } from '#api/usage-names.ts'
import { fail } from '#base/errors.ts'
import { timestamp } from '#base/ids.ts'
import { LatencyHistogram } from '#base/latency-histogram.ts'
import type { ResourceBody } from '#contract/body.ts'
import {
  usageDimensions,
  usageFilters,
  usageWindows,
  type UsageDimension,
  type UsageWindow,
} from '#contract/usage.ts'
import {
  DAY,
  HOUR,
  MINUTE,
  type SeriesTotal,
  type UsagePeriods,
  type UsagePoint,
  type UsageSums,
} from '#store/usage.ts'

const resolutions = { minute: MINUTE, hour: HOUR, day: DAY } as const

/** Seconds, and the periods that totals are read from: fewer rows than points have. */
const windows = {
  '1h': { length: HOUR, totals: MINUTE },
  '24h': { length: DAY, totals: HOUR },
  '30d': { length: 30 * DAY, totals: DAY },
  '1y': { length: 365 * DAY, totals: DAY },
} as const

const DEFAULT_LIMIT = 20

type Filters = Readonly<Record<string, string>>

/** The usage that the caller may see: members that of their own and of shared endpoints. */
export async function usage(call: Call, filters: Filters): Promise<ResourceBody> {
  const by = dimensionOf(filters)
  const window = (filters['window'] ?? '24h') as UsageWindow
  const { length, totals: resolution } = windows[window]
  const now = Math.floor(call.now() / 1000)
  const from = Math.floor(now / resolution) * resolution - length
  const owners = call.principal.role === 'admin' ? undefined : [call.principal.id, '']
  const periods: UsagePeriods = { resolution, dimension: by, from, until: now + 1, owners }
  await call.refreshUsage()
  const only = filters[usageFilters[by]]?.split(',')
  const limit = Number(filters['limit'] ?? DEFAULT_LIMIT)
  const busiest = await call.store.usage.totals(periods, limit, only)
  const shown = resolutions[usageWindows[window]]
  const withPoints = filters['points'] !== 'false'
  const nameOf = await seriesNames(busiest, call)
  const series: ResourceBody[] = []
  for (const total of busiest) {
    const parts = await readPoints(total, periods, call)
    // The last point is within the last part.
    const since = withPoints ? from : (parts.at(-1)?.start ?? from)
    const points = await readPoints(total, { ...periods, resolution: shown, from: since }, call)
    const last = points.at(-1)
    series.push({
      ...nameOf(total),
      ...sumsOf(total),
      ...quantilesIn(parts),
      last_at: last ? timestamp(last.start * 1000) : null,
      points: withPoints ? pointsOf(points) : null,
    })
    // A year of one series is quick, but not that of a hundred.
    await nextTurn()
  }
  const total = sumsOf(only === undefined ? await call.store.usage.sum(periods) : summed(busiest))
  const [start, end] = [timestamp(from * 1000), timestamp(now * 1000)]
  return { by, window, resolution: usageWindows[window], from: start, until: end, total, series }
}

/** Named or implied; a filter of another dimension is an error rather than ignored. */
function dimensionOf(filters: Filters): UsageDimension {
  const isFiltered = (dimension: UsageDimension): boolean => filters[usageFilters[dimension]] !== undefined
  const implied = usageDimensions.findLast(isFiltered) ?? 'endpoint'
  const wanted = (filters['by'] ?? implied) as UsageDimension
  const stray = usageDimensions.find(dimension => dimension !== wanted && isFiltered(dimension))
  return stray === undefined ? wanted : fail('usage_filter', { field: usageFilters[stray], by: wanted })
}

const readPoints = (total: SeriesTotal, periods: UsagePeriods, call: Call): Promise<UsagePoint[]> =>
  call.store.usage.points(periods, total)

function quantilesIn(parts: readonly UsagePoint[]): ResourceBody {
  const latency = new LatencyHistogram()
  for (const part of parts) latency.mergeEncoded(part.latency)
  return quantilesOf(latency)
}

const sumsOf = ({ requests, errors, bytesIn, bytesOut }: UsageSums) => ({
  requests,
  errors,
  bytes_in: bytesIn,
  bytes_out: bytesOut,
})

function summed(totals: readonly UsageSums[]): UsageSums {
  const sum = (of: (total: UsageSums) => number): number =>
    totals.reduce((total, each) => total + of(each), 0)
  return {
    requests: sum(it => it.requests),
    errors: sum(it => it.errors),
    bytesIn: sum(it => it.bytesIn),
    bytesOut: sum(it => it.bytesOut),
  }
}

/** To four digits: the buckets are not more exact. */
const rounded = (ms: number | undefined): number | null =>
  ms === undefined ? null : Number(ms.toPrecision(4))

const quantilesOf = (latency: LatencyHistogram) => ({
  p50_ms: rounded(latency.quantile(0.5)),
  p95_ms: rounded(latency.quantile(0.95)),
  p99_ms: rounded(latency.quantile(0.99)),
})

function pointsOf(points: readonly UsagePoint[]): ResourceBody {
  const quantiles = points.map(({ latency }) => quantilesOf(LatencyHistogram.decode(latency)))
  return {
    start: points.map(({ start }) => timestamp(start * 1000)),
    requests: points.map(({ requests }) => requests),
    errors: points.map(({ errors }) => errors),
    bytes_in: points.map(({ bytesIn }) => bytesIn),
    bytes_out: points.map(({ bytesOut }) => bytesOut),
    p50_ms: quantiles.map(({ p50_ms }) => p50_ms),
    p95_ms: quantiles.map(({ p95_ms }) => p95_ms),
    p99_ms: quantiles.map(({ p99_ms }) => p99_ms),
  }
}
