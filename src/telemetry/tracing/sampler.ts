import type { Counter } from '#base/metrics.ts'
import { isSampled, type TraceParent } from '#telemetry/tracing/trace-context.ts'

export interface SamplerOptions {
  /** Fraction of requests without a trace that start one: 0 to 1. */
  readonly share: number
  /** Sampled requests: those that are traced, and those over the limit. */
  readonly recorded: Counter
  readonly limited: Counter
  readonly now?: () => number
  readonly random?: () => number
}

/** Requests per second. Any client can request a trace, so those have their own limit. */
const ASKED_PER_SECOND = 100
const OWN_PER_SECOND = 500

/** Decides which requests are traced: as their sender decided, and a fraction of all others. */
export class Sampler {
  readonly #options: SamplerOptions
  readonly #random: () => number
  readonly #asked: Allowance
  readonly #own: Allowance

  constructor(options: SamplerOptions) {
    const { now = () => performance.now(), random = Math.random } = options
    this.#options = options
    this.#random = random
    this.#asked = new Allowance(ASKED_PER_SECOND, now)
    this.#own = new Allowance(OWN_PER_SECOND, now)
  }

  takes(parent: TraceParent | undefined): boolean {
    const { share, recorded, limited } = this.#options
    const isWanted = parent === undefined ? this.#random() < share : isSampled(parent)
    if (!isWanted) return false
    const isTaken = (parent === undefined ? this.#own : this.#asked).take()
    const counter = isTaken ? recorded : limited
    counter.add()
    return isTaken
  }
}

/** So many per second; unused ones carry over to the next. */
class Allowance {
  readonly #rate: number
  readonly #now: () => number
  #left: number
  #at: number

  constructor(rate: number, now: () => number) {
    this.#rate = rate
    this.#now = now
    this.#left = rate
    this.#at = now()
  }

  take(): boolean {
    const now = this.#now()
    this.#left = Math.min(this.#rate, this.#left + ((now - this.#at) / 1000) * this.#rate)
    this.#at = now
    if (this.#left < 1) return false
    this.#left--
    return true
  }
}
