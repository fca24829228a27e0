import { timestamp } from '#base/ids.ts'

const KEPT = 20

/** One request to a destination. */
export interface DeliveryAttempt {
  readonly at: string
  readonly events: number
  /** Null: accepted. */
  readonly error: string | null
  readonly duration_ms: number
}

/** The last attempts of a delivery, newest first. */
export class DeliveryAttempts {
  #all: readonly DeliveryAttempt[] = []

  get all(): readonly DeliveryAttempt[] {
    return this.#all
  }

  /** Begins to measure one, that starts at `now`; the result ends it. */
  begin(events: number, now: number): (error: string | null) => void {
    const begun = performance.now()
    return error => {
      const ms = Math.round((performance.now() - begun) * 1000) / 1000
      const attempt = { at: timestamp(now), events, error, duration_ms: ms }
      this.#all = [attempt, ...this.#all.slice(0, KEPT - 1)]
    }
  }
}
