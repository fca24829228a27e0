const TICK_MS = 5000
const KEPT_DURATIONS = 1000
const NANOSECONDS = 1_000_000

/** Exponentially weighted rate per second over some minutes, updated at every tick. */
class Rate {
  readonly #decay: number
  #value: number | undefined

  constructor(minutes: number) {
    this.#decay = 1 - Math.exp(-TICK_MS / 60_000 / minutes)
  }

  get value(): number {
    return this.#value ?? 0
  }

  tick(perSecond: number): void {
    this.#value =
      this.#value === undefined ? perSecond : this.#value + this.#decay * (perSecond - this.#value)
  }

  /** The value after that many ticks without an event. */
  rest(ticks: number): void {
    if (this.#value !== undefined) this.#value *= (1 - this.#decay) ** ticks
  }
}

interface MeterReading {
  readonly count: number
  readonly rate1: number
  readonly rate5: number
  readonly rate15: number
  /** Durations in nanoseconds. */
  readonly p50: number
  readonly p90: number
  readonly p95: number
  readonly p99: number
}

/** Counts events, their rates and durations, in constant space. */
export class Meter {
  readonly #now: () => number
  readonly #rates = [new Rate(1), new Rate(5), new Rate(15)] as const
  readonly #durations: number[] = []
  #next = 0
  #count = 0
  #uncounted = 0
  #tick: number

  constructor(now: () => number = Date.now) {
    this.#now = now
    this.#tick = Math.floor(now() / TICK_MS)
  }

  mark(): void {
    this.#advance()
    this.#count++
    this.#uncounted++
  }

  /** The duration of an event, in milliseconds. */
  took(milliseconds: number): void {
    this.#durations[this.#next] = milliseconds
    this.#next = (this.#next + 1) % KEPT_DURATIONS
  }

  read(): MeterReading {
    this.#advance()
    const [rate1, rate5, rate15] = this.#rates
    const sorted = this.#durations.toSorted((left, right) => left - right)
    const at = (part: number): number =>
      Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0) * NANOSECONDS)
    return {
      count: this.#count,
      rate1: rate1.value,
      rate5: rate5.value,
      rate15: rate15.value,
      p50: at(0.5),
      p90: at(0.9),
      p95: at(0.95),
      p99: at(0.99),
    }
  }

  #advance(): void {
    const passed = Math.floor(this.#now() / TICK_MS) - this.#tick
    if (passed <= 0) return
    for (const rate of this.#rates) {
      rate.tick(this.#uncounted / (TICK_MS / 1000))
      rate.rest(passed - 1)
    }
    this.#uncounted = 0
    this.#tick += passed
  }
}
