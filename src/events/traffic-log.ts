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
export const TRAFFIC_PAGE = 1000

/** One who reads the log at its own pace, until it leaves. */
export interface TrafficReader {
  /** Everything up to here was read. */
  place: number
  /** Events after `place`, and how many were lost in between. */
  read(): { readonly events: readonly Numbered[]; readonly lost: number }
  leave(): void
}

/**
 * The latest events of traffic, in memory only, for all who want them: each reads at its own pace, and who is too slow
 * misses the oldest. So a destination that is dead costs no more than this, however many there are.
 */
export class TrafficLog {
  readonly #readers = new Set<TrafficReader>()
  readonly #slots: (Numbered | undefined)[] = Array.from({ length: MAX_EVENTS })
  #bytes = 0
  /** Numbers of the oldest that is kept and of the one to come. */
  #first = 1
  #next = 1

  /** Reads what comes from now on. */
  join(): TrafficReader {
    const reader: TrafficReader = {
      place: this.#next - 1,
      read: () => this.#after(reader.place),
      leave: () => this.#readers.delete(reader),
    }
    this.#readers.add(reader)
    return reader
  }

  add(event: OutgoingEvent): void {
    if (this.#next - this.#first === MAX_EVENTS) this.#drop()
    const { id, type, at, body } = event
    this.#slots[this.#next % MAX_EVENTS] = { sequence: this.#next, id, type, at, body }
    this.#next++
    this.#bytes += event.body.length
    while (this.#bytes > MAX_BYTES && this.#first < this.#next - 1) this.#drop()
  }

  /** What all have read goes while it is young: to clean up after what has been kept for long costs far more. */
  forgetRead(): void {
    let read = this.#next - 1
    for (const { place } of this.#readers) read = Math.min(read, place)
    while (this.#first <= read) this.#drop()
  }

  #after(after: number): { readonly events: readonly Numbered[]; readonly lost: number } {
    const from = Math.max(after + 1, this.#first)
    const events: Numbered[] = []
    for (let number = from; number < this.#next && events.length < TRAFFIC_PAGE; number++) {
      const event = this.#slots[number % MAX_EVENTS]
      if (event !== undefined) events.push(event)
    }
    return { events, lost: from - after - 1 }
  }

  #drop(): void {
    const slot = this.#first % MAX_EVENTS
    this.#bytes -= this.#slots[slot]?.body.length ?? 0
    this.#slots[slot] = undefined
    this.#first++
  }
}
