import type { Answered } from '#api/http-server.ts'
import { renderMetrics } from '#base/metrics-text.ts'
import { type Counter, Registry } from '#base/metrics.ts'
import { declareClusterMetrics, type MeasuredCluster } from '#server/cluster-metrics.ts'
import { isWriteRefusal, type WriteRefusal } from '#server/readiness.ts'
import type { StoreErrorCode } from '#store/store-error.ts'
import type { StoreObserver } from '#store/measured-engine.ts'
import { EndpointMetrics } from '#telemetry/usage/endpoint-metrics.ts'

/** In seconds. Most SQLite work takes less than a millisecond, a flush to disk some. */
const STORE_BOUNDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5]
const API_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

const METHODS = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE', 'other'] as const
const CODE_CLASSES = ['2xx', '3xx', '4xx', '5xx'] as const
const STORE_ERRORS = [
  'newer_schema',
  'locked',
  'unavailable',
  'uncertain',
  'read_only',
  'full',
  'unusable',
] as const satisfies readonly StoreErrorCode[]

/** Metrics of the first process: API requests, database and configuration. */
export class ServerMetrics {
  readonly #registry = new Registry()
  readonly answered: Answered = this.#countCalls()
  readonly store: StoreObserver = this.#countStore()
  #writeRefused: (refusal: WriteRefusal) => void = () => undefined

  /** `uncaught` counts uncaught errors of all processes. */
  constructor(uncaught: () => number = () => 0) {
    this.#registry
      .counter('adit_uncaught_errors_total', 'Uncaught errors; the server continues.')
      .from(uncaught)
  }

  /** Calls back whenever the database rejects a write. */
  onWriteRefused(listener: (refusal: WriteRefusal) => void): void {
    this.#writeRefused = listener
  }

  /** Exports the latest applied change. */
  follow(source: { readonly revision: number; readonly failures: number }): void {
    this.#registry
      .gauge('adit_config_revision', 'The latest change that all parts of the server have applied.', 'max')
      .from(() => source.revision)
    this.#registry
      .counter('adit_config_apply_errors_total', 'Changes that could not be read or decrypted.')
      .from(() => source.failures)
  }

  /** Exports this server as a node of its cluster. */
  followCluster(cluster: MeasuredCluster, clients: () => number): void {
    declareClusterMetrics(this.#registry, cluster, clients)
  }

  /** Counts usage by endpoint, for as many endpoints. */
  endpoints(limit: number): EndpointMetrics | undefined {
    return limit === 0 ? undefined : new EndpointMetrics(this.#registry, limit)
  }

  text(): string {
    return renderMetrics(this.#registry.snapshot())
  }

  #countCalls(): Answered {
    const calls = this.#registry.counters('adit_api_requests_total', 'API requests.', [
      'method',
      'code_class',
    ])
    const ofMethod = (method: string) => CODE_CLASSES.map(each => calls.with(method, each))
    const byMethod = new Map<string, readonly Counter[]>(METHODS.map(each => [each, ofMethod(each)]))
    const others = byMethod.get('other') ?? []
    const duration = this.#registry.histogram(
      'adit_api_request_duration_seconds',
      'From the request head to the response.',
      API_BOUNDS,
    )
    const limited = this.#registry.counter(
      'adit_api_rate_limited_total',
      'Requests rejected by the rate limit of a key.',
    )
    return (method, status, seconds) => {
      const counters = byMethod.get(method) ?? others
      counters[Math.floor(status / 100) - 2]?.add()
      duration.observe(seconds)
      if (status === 429) limited.add()
    }
  }

  #countStore(): StoreObserver {
    const help = 'in the database, successful ones only.'
    const durations = {
      read: this.#registry.histogram('adit_store_read_seconds', `Look-ups ${help}`, STORE_BOUNDS),
      write: this.#registry.histogram('adit_store_write_seconds', `Transactions ${help}`, STORE_BOUNDS),
    }
    const errors = this.#registry.counters('adit_store_errors_total', 'Database errors.', ['reason'])
    // All from the start, so that the first failure shows as an increase.
    for (const each of STORE_ERRORS) errors.with(each)
    return {
      took: (work, seconds) => durations[work].observe(seconds),
      failed: code => {
        errors.with(code).add()
        if (isWriteRefusal(code)) this.#writeRefused(code)
      },
    }
  }
}
