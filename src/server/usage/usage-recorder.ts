import { inBackground } from '#base/background.ts'
import { newId } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { KeyUses } from '#server/usage/key-uses.ts'
import { PendingUsage } from '#server/usage/pending-usage.ts'
import type { UsageAddition, UsageStore } from '#store/usage.ts'
import type { EndpointMetrics } from '#telemetry/usage/endpoint-metrics.ts'
import type { SeriesUsage } from '#telemetry/usage/series-usage.ts'

interface UsageRecorderOptions {
  readonly store: { readonly usage: UsageStore }
  readonly log: Log
  readonly now: () => number
  /** Exports the counts by endpoint too; unused when absent. */
  readonly endpoints?: Pick<EndpointMetrics, 'add'> | undefined
}

/** With the second in which gateways gather counts, a killed server loses at most those of ten seconds. */
const FLUSH_MS = 9000
/** Readers cause a flush at most this often. */
const READ_FLUSH_MS = 1000
/** Uses of API keys are stored this often: an idle server that is watched by an API client should write little. */
const KEYS_MS = 60_000

/** Collects the usage that gateways report, and adds it to the store in the background. */
export class UsageRecorder implements AsyncDisposable {
  readonly #options: UsageRecorderOptions
  readonly #pending = new PendingUsage()
  readonly #keys = new KeyUses()
  readonly #writer = newId('uw')
  readonly #timer: NodeJS.Timeout
  #number = 0
  /** Not known to be stored: it is repeated, with its number, before any other. */
  #unsettled: UsageAddition | undefined
  #flushing: Promise<void> | undefined
  #flushedAt = -Infinity
  #keysTakenAt = performance.now()

  constructor(options: UsageRecorderOptions) {
    this.#options = options
    this.#timer = setInterval(() => {
      if (performance.now() - this.#keysTakenAt >= KEYS_MS) this.#takeKeyUses()
      void this.#flushInBackground()
    }, FLUSH_MS)
    this.#timer.unref()
  }

  add(usage: readonly SeriesUsage[]): void {
    this.#options.endpoints?.add(usage)
    this.#pending.add(usage, Math.floor(this.#options.now() / 1000))
  }

  /** Counts an API request with a key. */
  usedKey(key: string, owner: string): void {
    this.#keys.count(key, owner)
  }

  /** Stores what was reported, so that readers see it; a failure is logged, and what was stored before can be read. */
  async refresh(): Promise<void> {
    if (performance.now() - this.#flushedAt < READ_FLUSH_MS) return
    this.#takeKeyUses()
    await this.#flushInBackground()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#flushing
    this.#takeKeyUses()
    await this.#flushInBackground()
  }

  #takeKeyUses(): void {
    this.#keysTakenAt = performance.now()
    this.#pending.add(this.#keys.take(), Math.floor(this.#options.now() / 1000))
  }

  /** One flush at a time. Never rejects. */
  #flushInBackground(): Promise<void> {
    const failed = 'usage cannot be stored; it is kept in memory'
    this.#flushing ??= inBackground({ task: 'usage', log: this.#options.log, failed }, () =>
      this.#flush(),
    ).finally(() => (this.#flushing = undefined))
    return this.#flushing
  }

  /** A transaction for each period, so that none takes long. */
  async #flush(): Promise<void> {
    this.#flushedAt = performance.now()
    for (;;) {
      this.#unsettled ??= this.#next()
      if (this.#unsettled === undefined) return
      await this.#options.store.usage.add(this.#unsettled)
      this.#unsettled = undefined
    }
  }

  #next(): UsageAddition | undefined {
    const period = this.#pending.take()
    return period && { ...period, writer: this.#writer, number: ++this.#number }
  }
}
