import type { EndedRequest } from '#contract/request-responder.ts'
import { totalMs } from '#ui/dashboard/traffic/request-text.ts'

/** Seconds that the figures cover. */
const SECONDS = 120
/** More durations than this are not kept, however many requests there are. */
const MAX_DURATIONS = 5000

interface Second {
  readonly at: number
  requests: number
  errors: number
  bytes: number
}

export interface Figures {
  /** Unix times, and the requests and errors that ended in each second. */
  readonly times: readonly number[]
  readonly requests: readonly number[]
  readonly errors: readonly number[]
  readonly perSecond: number
  readonly errorShare: number
  readonly bytes: number
  readonly p50: number | undefined
  readonly p99: number | undefined
}

const quantile = (sorted: readonly number[], share: number): number | undefined =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]

interface Duration {
  readonly at: number
  readonly ms: number
}

/** Counts requests per second, for the last two minutes. */
export class RequestCounter {
  readonly #begun: number
  #seconds: Second[] = []
  #durations: Duration[] = []

  constructor(now: number) {
    this.#begun = now
  }

  add(request: EndedRequest, now: number): void {
    const at = Math.floor(now / 1000)
    let second = this.#seconds.at(-1)
    if (second?.at !== at) {
      second = { at, requests: 0, errors: 0, bytes: 0 }
      this.#seconds.push(second)
    }
    second.requests++
    if (request.status >= 500) second.errors++
    second.bytes += request.response_bytes ?? 0
    this.#durations.push({ at, ms: totalMs(request) })
    if (this.#durations.length > MAX_DURATIONS) this.#durations = this.#durations.slice(-MAX_DURATIONS / 2)
  }

  figures(now: number): Figures {
    const last = Math.floor(now / 1000)
    const isRecent = ({ at }: { readonly at: number }): boolean => at > last - SECONDS
    this.#seconds = this.#seconds.filter(isRecent)
    this.#durations = this.#durations.filter(isRecent)
    const bySecond = new Map(this.#seconds.map(second => [second.at, second]))
    const times = Array.from({ length: SECONDS }, (_, index) => last - SECONDS + 1 + index)
    const sum = (name: 'requests' | 'errors' | 'bytes'): number =>
      this.#seconds.reduce((total, second) => total + second[name], 0)
    const sorted = this.#durations.map(({ ms }) => ms).toSorted((left, right) => left - right)
    // A page that was just opened has no earlier requests.
    const elapsed = Math.max(1, Math.min(SECONDS, (now - this.#begun) / 1000))
    const requests = sum('requests')
    return {
      times,
      requests: times.map(at => bySecond.get(at)?.requests ?? 0),
      errors: times.map(at => bySecond.get(at)?.errors ?? 0),
      perSecond: requests / elapsed,
      errorShare: requests === 0 ? 0 : sum('errors') / requests,
      bytes: sum('bytes'),
      p50: quantile(sorted, 0.5),
      p99: quantile(sorted, 0.99),
    }
  }
}
