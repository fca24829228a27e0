import type { UsageDimension } from '#contract/usage.ts'
import type { UsageSeries } from '#http/request-context.ts'

/** The counts of one series over some time. Plain data, so that it can be sent between processes. */
export interface SeriesUsage extends Omit<UsageSeries, 'by' | 'counts'> {
  readonly by: UsageDimension
  readonly requests: number
  readonly errors: number
  readonly bytesIn: number
  readonly bytesOut: number
  /** An encoded `LatencyHistogram`. */
  readonly latency: string
}
