import { inBackground } from '#base/background.ts'
import { LatencyHistogram } from '#base/latency-histogram.ts'
import type { Log } from '#base/log.ts'
import { OTHER_SERIES } from '#contract/usage.ts'
import type { RequestContext, UsageSeries } from '#http/request-context.ts'
import type { SessionRecord, TunnelRecord } from '#registry/directory.ts'
import { bytesReceived, bytesSent } from '#telemetry/transferred.ts'
import type { SeriesUsage } from '#telemetry/usage/series-usage.ts'

export type PublishUsage = (usage: readonly SeriesUsage[]) => Promise<void> | void

interface UsageCounterOptions {
  readonly publish: PublishUsage
  /** The connected agents, for their credentials. */
  readonly sessions: ReadonlyMap<string, Pick<SessionRecord, 'credentialId'>>
  readonly log: Log
}

/** One request or connection that has ended. */
interface Ended {
  readonly failed: boolean
  readonly bytesIn: number
  readonly bytesOut: number
  /** Undefined for connections without HTTP, which have no response. */
  readonly ms: number | undefined
}

class Counts {
  requests = 0
  errors = 0
  bytesIn = 0
  bytesOut = 0
  readonly latency: LatencyHistogram

  constructor(latency: LatencyHistogram) {
    this.latency = latency
  }
}

const PUBLISH_MS = 1000
/** Series between two publications; beyond it the counts of further ones are aggregated. */
const MAX_SERIES = 4000

const otherSeries = (by: UsageSeries['by']): UsageSeries => ({
  by,
  name: OTHER_SERIES,
  owner: OTHER_SERIES,
  counts: undefined,
})

/** Counts requests and connections of this process by endpoint and credential, and publishes the counts every second. */
export class UsageCounter {
  readonly #options: UsageCounterOptions
  /** Those with counts, which they hold themselves: with many endpoints a look-up reads memory that no cache has. */
  #counted: UsageSeries[] = []
  readonly #others = { endpoint: otherSeries('endpoint'), credential: otherSeries('credential') }
  /** Kept with the tunnel: its session may end before its last request. */
  readonly #credentials = new WeakMap<TunnelRecord, UsageSeries>()
  /** Empty ones of earlier publications: a new one for each series and second would be much work for the collector. */
  readonly #spare: LatencyHistogram[] = []
  #isScheduled = false

  constructor(options: UsageCounterOptions) {
    this.#options = options
  }

  /** A request whose response was sent, or whose client has disconnected. */
  request(context: RequestContext, now: number): void {
    const { route, tunnel, upgraded, respondedAt, begun, failed } = context
    if (respondedAt === 0 || route?.usage === undefined) return
    const ended = {
      failed,
      bytesIn: bytesReceived(context),
      bytesOut: bytesSent(context),
      ms: upgraded === undefined ? now - begun : respondedAt - begun,
    }
    this.#add(route.usage, ended)
    this.#add(tunnel && this.credentialOf(tunnel), ended)
  }

  /** A connection without HTTP that has ended; it is counted in each of the series. */
  connection(
    series: readonly (UsageSeries | undefined)[],
    { failed, bytesIn, bytesOut }: Omit<Ended, 'ms'>,
  ): void {
    for (const each of series) this.#add(each, { failed, bytesIn, bytesOut, ms: undefined })
  }

  /** The series of the credential of a tunnel; undefined if the agent has disconnected before the first call. */
  credentialOf(tunnel: TunnelRecord): UsageSeries | undefined {
    const known = this.#credentials.get(tunnel)
    if (known !== undefined) return known
    const name = this.#options.sessions.get(tunnel.sessionId)?.credentialId
    if (name === undefined) return undefined
    const series: UsageSeries = { by: 'credential', name, owner: tunnel.ownerId, counts: undefined }
    this.#credentials.set(tunnel, series)
    return series
  }

  #add(series: UsageSeries | undefined, { failed, bytesIn, bytesOut, ms }: Ended): void {
    if (series === undefined) return
    if (!this.#isScheduled) this.#publishLater()
    const counts = this.#countsOf(series)
    counts.requests++
    if (failed) counts.errors++
    counts.bytesIn += bytesIn
    counts.bytesOut += bytesOut
    if (ms !== undefined) counts.latency.add(ms)
  }

  #countsOf(series: UsageSeries): Counts {
    const { counts: known, by } = series
    if (known instanceof Counts) return known
    if (this.#counted.length >= MAX_SERIES && series !== this.#others[by])
      return this.#countsOf(this.#others[by])
    const made = new Counts(this.#spare.pop() ?? new LatencyHistogram())
    series.counts = made
    this.#counted.push(series)
    return made
  }

  #publishLater(): void {
    this.#isScheduled = true
    const publish = (): void => {
      this.#isScheduled = false
      void inBackground({ task: 'usage', log: this.#options.log }, () => this.settle())
    }
    setTimeout(publish, PUBLISH_MS).unref()
  }

  /** Publishes what was counted, without waiting for more; also for the shutdown. */
  async settle(): Promise<void> {
    const usage = this.#counted.map((series): SeriesUsage => {
      const { by, name, owner } = series
      const { latency, ...counts } = this.#countsOf(series)
      series.counts = undefined
      const encoded = latency.encode()
      latency.clear()
      this.#spare.push(latency)
      return { by, name, owner, ...counts, latency: encoded }
    })
    this.#counted = []
    if (usage.length > 0) await this.#options.publish(usage)
  }
}
