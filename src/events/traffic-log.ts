import type { OutgoingEvent } from '#events/destination.ts'
import { sizeOf } from '#events/line-event.ts'

const MAX_EVENTS = 20_000
const MAX_BYTES = 33_554_432
export const TRAFFIC_PAGE = 1000

/** One who reads the log at its own pace, until it leaves. */
export interface TrafficReader {
  /** Everything up to here was read. */
  place: number
  /** How many there are after `place`. */
  readonly waiting: number
  /** Events after `place`, the oldest of those that are kept first, and the number of that one. */
  read(): TrafficRead
  leave(): void
}

export interface TrafficRead {
  readonly first: number
  readonly events: readonly OutgoingEvent[]
}

export interface TrafficReading {
  /** True for types that it is there for. */
  readonly wants: (type: string) => boolean
  /** Called at the moment that an event is dropped that it wanted and had not read. */
  readonly missed: () => void
}

interface Joined {
  readonly reader: TrafficReader
  readonly reading: TrafficReading
}

/**
 * The latest events of traffic, in memory only, for all who want them: each reads at its own pace, and who is too slow
 * misses the oldest. So a destination that is dead costs no more than this, however many there are.
 */
export class TrafficLog {
  readonly #joined = new Set<Joined>()
  readonly #slots: (OutgoingEvent | undefined)[] = Array.from({ length: MAX_EVENTS })
  #bytes = 0
  /** Numbers of the oldest that is kept and of the one to come. */
  #first = 1
  #next = 1

  /** Reads what comes from now on. */
  join(reading: TrafficReading): TrafficReader {
    const waitingAfter = (place: number): number => this.#next - this.#from(place)
    const reader: TrafficReader = {
      place: this.#next - 1,
      get waiting() {
        return waitingAfter(this.place)
      },
      read: () => this.#after(reader.place),
      leave: () => this.#joined.delete(joined),
    }
    const joined = { reader, reading }
    this.#joined.add(joined)
    return reader
  }

  add(event: OutgoingEvent): void {
    if (this.#next - this.#first === MAX_EVENTS) this.#lose()
    this.#slots[this.#next % MAX_EVENTS] = event
    this.#next++
    this.#bytes += sizeOf(event)
    while (this.#bytes > MAX_BYTES && this.#first < this.#next - 1) this.#lose()
  }

  /** What all have read goes while it is young: to clean up after what has been kept for long costs far more. */
  forgetRead(): void {
    let read = this.#next - 1
    for (const { reader } of this.#joined) read = Math.min(read, reader.place)
    while (this.#first <= read) this.#drop()
  }

  #from(place: number): number {
    return Math.max(place + 1, this.#first)
  }

  #after(place: number): TrafficRead {
    const events: OutgoingEvent[] = []
    const first = this.#from(place)
    for (let number = first; number < this.#next && events.length < TRAFFIC_PAGE; number++) {
      const event = this.#slots[number % MAX_EVENTS]
      if (event !== undefined) events.push(event)
    }
    return { first, events }
  }

  /** Drops the oldest although somebody may not have read it. Who keeps up costs no more than to see that. */
  #lose(): void {
    const type = this.#slots[this.#first % MAX_EVENTS]?.type ?? ''
    for (const { reader, reading } of this.#joined)
      if (reader.place < this.#first && reading.wants(type)) reading.missed()
    this.#drop()
  }

  #drop(): void {
    const slot = this.#first % MAX_EVENTS
    const event = this.#slots[slot]
    if (event !== undefined) this.#bytes -= sizeOf(event)
    this.#slots[slot] = undefined
    this.#first++
  }
}
