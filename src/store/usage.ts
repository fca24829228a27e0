/** The lengths of the periods, in seconds. Periods begin at whole minutes, hours and days of UTC. */
export const MINUTE = 60
export const HOUR = 3600
export const DAY = 86_400
export type Resolution = typeof MINUTE | typeof HOUR | typeof DAY

export interface UsageSums {
  readonly requests: number
  readonly errors: number
  readonly bytesIn: number
  readonly bytesOut: number
}

export interface UsageEntry extends UsageSums {
  readonly owner: string
  readonly series: string
  /** An encoded `LatencyHistogram`. */
  readonly latency: string
}

/** Usage in one period, by one dimension. */
export interface UsageAddition {
  /** Identifies the process; each addition of a writer has a higher number than the one before. */
  readonly writer: string
  readonly number: number
  readonly resolution: Resolution
  /** Seconds since 1970, as all times here. */
  readonly start: number
  readonly dimension: string
  /** No two of the same series. */
  readonly entries: readonly UsageEntry[]
  readonly limits: SeriesLimits
}

/** Bounds of one period and dimension; what is beyond them is added to the series named `other`. */
export interface SeriesLimits {
  readonly series: number
  readonly seriesOfOwner: number
  /** The series, and the owner of what exceeds the first limit; that of the second belongs to its owner. */
  readonly other: string
}

/** Which periods: those that begin in `from` or later, and before `until`. */
export interface UsagePeriods {
  readonly resolution: Resolution
  readonly dimension: string
  readonly from: number
  readonly until: number
  /** Only series of these owners; all when absent. */
  readonly owners?: readonly string[] | undefined
}

export interface SeriesTotal extends UsageSums {
  readonly owner: string
  readonly series: string
}

/** One period of a series. */
export interface UsagePoint extends UsageEntry {
  readonly start: number
}

/** Usage over time. Additions by several processes are summed. */
export interface UsageStore {
  /** Repeating an addition whose outcome is unknown changes nothing. */
  add(addition: UsageAddition): Promise<void>
  /** The sums over all periods of each series, most requests first, at most `limit`; only of these series if given. */
  totals(periods: UsagePeriods, limit: number, series?: readonly string[]): Promise<SeriesTotal[]>
  /** The sum over all series. */
  sum(periods: UsagePeriods): Promise<UsageSums>
  /** The periods of one series that have traffic, oldest first. */
  points(periods: UsagePeriods, of: Pick<UsageEntry, 'owner' | 'series'>): Promise<UsagePoint[]>
  /** Deletes periods of a resolution that began before a time. */
  prune(resolution: Resolution, before: number): Promise<void>
  /** Forgets the additions of writers whose last one was for a period that began before a time. */
  forgetWriters(before: number): Promise<void>
}
