import { setImmediate as nextTurn } from 'node:timers/promises'
import { LatencyHistogram } from '#base/latency-histogram.ts'
import { query, type Columns, type Engine, type SqlValue, type Steps } from '#store/engine.ts'
import type {
  Resolution,
  SeriesTotal,
  UsageAddition,
  UsageEntry,
  UsagePeriods,
  UsagePoint,
  UsageStore,
  UsageSums,
} from '#store/usage.ts'
import { usageStatements, type UsageStatements } from '#store/usage-statements.ts'

const PRUNE_CHUNK = 1000

/** Usage, for any engine. */
export class SqlUsage implements UsageStore {
  readonly #engine: Engine
  readonly #sql: UsageStatements

  constructor(engine: Engine) {
    this.#engine = engine
    this.#sql = usageStatements(engine.dialect)
  }

  add(addition: UsageAddition): Promise<void> {
    return this.#engine.run(addSteps(this.#sql, addition))
  }

  async totals(periods: UsagePeriods, limit: number, series?: readonly string[]): Promise<SeriesTotal[]> {
    const values = [...valuesOf(periods), series === undefined ? null : JSON.stringify(series), limit]
    return (await this.#read(this.#sql.totals, values)).map(at => ({
      owner: String(at[0]),
      series: String(at[1]),
      ...sumsOf(at.slice(2)),
    }))
  }

  async sum(periods: UsagePeriods): Promise<UsageSums> {
    const [sums = []] = await this.#read(this.#sql.sum, valuesOf(periods))
    return sumsOf(sums)
  }

  async points(
    { resolution, dimension, from, until }: UsagePeriods,
    { owner, series }: Pick<UsageEntry, 'owner' | 'series'>,
  ): Promise<UsagePoint[]> {
    const values = [resolution, dimension, owner, series, from, until]
    return (await this.#read(this.#sql.points, values)).map(at => ({
      owner,
      series,
      start: Number(at[0]),
      latency: String(at[1]),
      ...sumsOf(at.slice(2)),
    }))
  }

  async prune(resolution: Resolution, before: number): Promise<void> {
    let removed: readonly Columns[]
    do {
      removed = await this.#read(this.#sql.prune, [resolution, before, PRUNE_CHUNK])
      await nextTurn()
    } while (removed.length === PRUNE_CHUNK)
  }

  async forgetWriters(before: number): Promise<void> {
    await this.#read(this.#sql.forgetWriters, [before])
  }

  #read(text: string, values: readonly SqlValue[]): Promise<readonly Columns[]> {
    return this.#engine.read({ text, values })
  }
}

const valuesOf = ({ resolution, from, until, dimension, owners }: UsagePeriods): SqlValue[] => [
  JSON.stringify(owners ?? []),
  owners === undefined ? 1 : 0,
  resolution,
  from,
  until,
  dimension,
]

const sumsOf = ([requests, errors, bytesIn, bytesOut]: Columns): UsageSums => ({
  requests: Number(requests ?? 0),
  errors: Number(errors ?? 0),
  bytesIn: Number(bytesIn ?? 0),
  bytesOut: Number(bytesOut ?? 0),
})

interface Stored {
  readonly owner: string
  readonly series: string
  readonly latency: string
}

function* addSteps(sql: UsageStatements, addition: UsageAddition): Steps<void> {
  const { writer, number, resolution, start, dimension, entries } = addition
  yield* query(sql.begin)
  yield* query(sql.lock)
  const [last] = yield* query<{ readonly addition: number }>(sql.lastAddition, writer)
  if (last === undefined || last.addition < number) {
    const stored = yield* query<Stored>(sql.stored, resolution, start, dimension)
    const period = new Period(stored, addition)
    for (const entry of entries) {
      const { owner, series } = period.placeOf(entry)
      const { requests, errors, bytesIn, bytesOut } = entry
      const latency = period.add(owner, series, entry.latency)
      const key = [resolution, start, dimension, owner, series]
      yield* query(sql.add, ...key, requests, errors, bytesIn, bytesOut, latency)
    }
    yield* query(sql.writeAddition, writer, number, start)
  }
  yield* query(sql.commit)
}

/** The series of one period, while entries are added to it. */
class Period {
  readonly #limits: UsageAddition['limits']
  readonly #latencies = new Map<string, LatencyHistogram>()
  readonly #ofOwner = new Map<string, number>()

  constructor(stored: readonly Stored[], { limits }: UsageAddition) {
    this.#limits = limits
    for (const { owner, series, latency } of stored) this.add(owner, series, latency)
  }

  /** The series itself while there is room, else the one for the rest of its owner, or of all. */
  placeOf({ owner, series }: UsageEntry): Pick<UsageEntry, 'owner' | 'series'> {
    const { other, series: most, seriesOfOwner } = this.#limits
    if (this.#latencies.has(keyOf(owner, series))) return { owner, series }
    const isFull = this.#latencies.size >= most
    if (!isFull && (this.#ofOwner.get(owner) ?? 0) < seriesOfOwner) return { owner, series }
    const hasOwn = this.#latencies.has(keyOf(owner, other))
    return hasOwn || !isFull ? { owner, series: other } : { owner: other, series: other }
  }

  /** Resolves to the latencies of the series with those added. */
  add(owner: string, series: string, latency: string): string {
    const key = keyOf(owner, series)
    const known = this.#latencies.get(key)
    if (known === undefined) this.#ofOwner.set(owner, (this.#ofOwner.get(owner) ?? 0) + 1)
    const histogram = known ?? new LatencyHistogram()
    histogram.mergeEncoded(latency)
    this.#latencies.set(key, histogram)
    return histogram.encode()
  }
}

const keyOf = (owner: string, series: string): string => `${owner} ${series}`
