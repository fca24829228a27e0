import type { OutgoingEvent } from '#events/destination.ts'
import type { Numbered } from '#events/outbox.ts'

/** What the gateway tells: it is not written to the store. */
const trafficTypes: ReadonlySet<string> = new Set([
  'agent_session_start.v0',
  'agent_session_stop.v0',
  'http_request_complete.v0',
  'tcp_connection_closed.v0',
])

export const isTraffic = (type: string): boolean => trafficTypes.has(type)

const MAX_EVENTS = 20_000
const MAX_BYTES = 33_554_432
const PAGE = 1000

/**
 * The latest events of traffic, in memory only, for all who want them: each reads at its own pace, and who is too slow
 * misses the oldest. So a destination that is dead costs no more than this, however many there are.
 */
export class TrafficLog {
  readonly #slots: (Numbered | undefined)[] = Array.from({ length: MAX_EVENTS })
  #bytes = 0
  /** Numbers of the oldest that is kept and of the one to come. */
  #first = 1
  #next = 1

  /** The number of the latest one. */
  get latest(): number {
    return this.#next - 1
  }

  add(event: OutgoingEvent): void {
    if (this.#next - this.#first === MAX_EVENTS) this.#drop()
    this.#slots[this.#next % MAX_EVENTS] = { ...event, sequence: this.#next }
    this.#next++
    this.#bytes += event.body.length
    while (this.#bytes > MAX_BYTES && this.#first < this.#next - 1) this.#drop()
  }

  /** Events after the one with this number, and how many were lost in between. */
  read(after: number): { readonly events: readonly Numbered[]; readonly lost: number } {
    const from = Math.max(after + 1, this.#first)
    const events: Numbered[] = []
    for (let number = from; number < this.#next && events.length < PAGE; number++) {
      const event = this.#slots[number % MAX_EVENTS]
      if (event !== undefined) events.push(event)
    }
    return { events, lost: from - after - 1 }
  }

  /** Nobody wants any. */
  clear(): void {
    while (this.#first < this.#next) this.#drop()
  }

  #drop(): void {
    const slot = this.#first % MAX_EVENTS
    this.#bytes -= this.#slots[slot]?.body.length ?? 0
    this.#slots[slot] = undefined
    this.#first++
  }
}
