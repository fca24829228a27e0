import type { ConnectionEvent, RequestEvent } from '#agent/events.ts'

const SHOWN_REQUESTS = 10
const KEPT_DURATIONS = 1000
const SECONDS = 60

export interface ShownRequest extends Pick<RequestEvent, 'method' | 'path' | 'status' | 'durationMs'> {
  readonly at: number
}

/** Traffic statistics in constant space. */
export class TrafficStats {
  readonly #now: () => number
  readonly #durations: number[] = []
  /** Connections of each second of the last minute, in a ring. */
  readonly #perSecond = new Uint32Array(SECONDS)
  readonly #requests: ShownRequest[] = []
  #second: number
  #open = 0
  #total = 0

  constructor(now: () => number) {
    this.#now = now
    this.#second = Math.floor(now() / 1000)
  }

  connection({ kind }: ConnectionEvent): void {
    if (kind === 'opened') {
      this.#turnTo(this.#now())
      const at = this.#second % SECONDS
      this.#perSecond[at] = (this.#perSecond[at] ?? 0) + 1
      this.#open++
      this.#total++
      return
    }
    this.#open--
  }

  request({ method, path, status, durationMs }: RequestEvent): void {
    this.#requests.unshift({ method, path, status, durationMs, at: this.#now() })
    this.#requests.length = Math.min(this.#requests.length, SHOWN_REQUESTS)
    this.#durations.push(durationMs)
    if (this.#durations.length > KEPT_DURATIONS) this.#durations.shift()
  }

  get open(): number {
    return this.#open
  }

  get total(): number {
    return this.#total
  }

  /** The newest first. */
  get requests(): readonly ShownRequest[] {
    return this.#requests
  }

  /** Connections per second over the last minute. */
  get rate(): number {
    this.#turnTo(this.#now())
    return this.#perSecond.reduce((sum, count) => sum + count, 0) / SECONDS
  }

  /** A percentile of the last request durations; undefined before the first one. */
  percentile(part: number): number | undefined {
    const sorted = this.#durations.toSorted((left, right) => left - right)
    return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]
  }

  /** Clears seconds that are a minute old. */
  #turnTo(now: number): void {
    const second = Math.floor(now / 1000)
    const passed = Math.min(second - this.#second, SECONDS)
    for (let step = 1; step <= passed; step++) this.#perSecond[(this.#second + step) % SECONDS] = 0
    if (passed > 0) this.#second = second
  }
}
