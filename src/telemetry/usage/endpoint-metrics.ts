import type { Counter, Family, Registry } from '#base/metrics.ts'
import { OTHER_SERIES } from '#contract/usage.ts'
import type { SeriesUsage } from '#telemetry/usage/series-usage.ts'

/** An endpoint without traffic for this long leaves its place when another one needs it. */
const IDLE_MS = 3_600_000
const OTHER = 'other'

interface Counters {
  readonly requests: Counter
  readonly errors: Counter
  readonly bytesIn: Counter
  readonly bytesOut: Counter
  usedAt: number
}

/**
 * Counters by endpoint. Tenants choose how many endpoints there are, so only a fixed number have values of their own;
 * the others are counted together.
 */
export class EndpointMetrics {
  readonly #requests: Family<Counter>
  readonly #errors: Family<Counter>
  readonly #bytes: Family<Counter>
  readonly #limit: number
  readonly #now: () => number
  /** The longest unused first. */
  readonly #endpoints = new Map<string, Counters>()
  readonly #other: Counters

  constructor(registry: Registry, limit: number, now = (): number => performance.now()) {
    this.#requests = registry.counters(
      'adit_endpoint_requests_total',
      'Requests and connections that have ended, by endpoint.',
      ['endpoint'],
    )
    this.#errors = registry.counters(
      'adit_endpoint_errors_total',
      'Those that failed at the gateway, the agent or the service, by endpoint.',
      ['endpoint'],
    )
    this.#bytes = registry.counters('adit_endpoint_bytes_total', 'Their bytes, by endpoint.', [
      'endpoint',
      'dir',
    ])
    this.#limit = limit
    this.#now = now
    this.#other = this.#declare(OTHER)
  }

  add(usage: readonly SeriesUsage[]): void {
    for (const { by, name, requests, errors, bytesIn, bytesOut } of usage) {
      if (by !== 'endpoint') continue
      const counters = this.#countersOf(name)
      counters.requests.add(requests)
      counters.errors.add(errors)
      counters.bytesIn.add(bytesIn)
      counters.bytesOut.add(bytesOut)
    }
  }

  #countersOf(name: string): Counters {
    if (name === OTHER_SERIES) return this.#other
    const known = this.#endpoints.get(name)
    if (known === undefined && !this.#hasRoom()) return this.#other
    const counters = known ?? this.#declare(name)
    counters.usedAt = this.#now()
    this.#endpoints.delete(name)
    this.#endpoints.set(name, counters)
    return counters
  }

  #hasRoom(): boolean {
    if (this.#endpoints.size < this.#limit) return true
    const [longestUnused] = this.#endpoints
    if (longestUnused === undefined) return false
    const [name, { usedAt }] = longestUnused
    if (this.#now() - usedAt < IDLE_MS) return false
    this.#endpoints.delete(name)
    this.#requests.remove(name)
    this.#errors.remove(name)
    this.#bytes.remove(name, 'in')
    this.#bytes.remove(name, 'out')
    return true
  }

  #declare(name: string): Counters {
    return {
      requests: this.#requests.with(name),
      errors: this.#errors.with(name),
      bytesIn: this.#bytes.with(name, 'in'),
      bytesOut: this.#bytes.with(name, 'out'),
      usedAt: this.#now(),
    }
  }
}
