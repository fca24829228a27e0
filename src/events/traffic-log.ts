import type { OutgoingEvent } from '#events/destination.ts'
import { EndpointQueues } from '#events/endpoint-queues.ts'
import { sizeOf } from '#events/line-event.ts'

const MAX_EVENTS = 20_000
const MAX_BYTES = 33_554_432
export const TRAFFIC_PAGE = 1000

/** A reader of the log, at its own pace. */
export interface TrafficReader {
  /** Everything up to here was read. */
  position: number
  /** How many there are after `place`. */
  readonly waiting: number
  /** Events after `place`, the oldest of those that are kept first. */
  read(): TrafficRead
  leave(): void
}

interface TrafficRead {
  /** Of each event, in their order. Some between them may be missing. */
  readonly numbers: readonly number[]
  readonly events: readonly OutgoingEvent[]
}

interface TrafficReading {
  /** True for types that it is there for. */
  readonly wants: (type: string) => boolean
  /** Called when a selected unread event is dropped. */
  readonly missed: () => void
}

interface Joined {
  readonly reader: TrafficReader
  readonly reading: TrafficReading
}

/**
 * The latest traffic events, in memory only, shared by all readers: each reads at its own pace, and a slow one misses
 * the oldest of the endpoint that has most. So dead destinations cost no more than this, and a flood at one endpoint
 * does not evict the events of others.
 */
export class TrafficLog {
  readonly #joined = new Set<Joined>()
  readonly #kept = new EndpointQueues<OutgoingEvent>(MAX_EVENTS)
  /** The next number. */
  #next = 1

  /** Reads the events from now on. */
  join(reading: TrafficReading): TrafficReader {
    const waitingAfter = (place: number): number => this.#kept.countAfter(place)
    const reader: TrafficReader = {
      position: this.#next - 1,
      get waiting() {
        return waitingAfter(this.position)
      },
      read: () => this.#after(reader.position),
      leave: () => this.#joined.delete(joined),
    }
    const joined = { reader, reading }
    this.#joined.add(joined)
    return reader
  }

  add(event: OutgoingEvent): void {
    this.#kept.add(this.#next++, event, { endpoint: event.endpoint ?? '', size: sizeOf(event) })
    while (this.#kept.count > MAX_EVENTS) this.#lose(this.#kept.mostEvents())
    while (this.#kept.size > MAX_BYTES && this.#kept.count > 1) this.#lose(this.#kept.mostBytes())
  }

  /** Entries that all have read are dropped while young: collecting old objects costs far more. */
  forgetRead(): void {
    let read = this.#next - 1
    for (const { reader } of this.#joined) read = Math.min(read, reader.position)
    this.#kept.dropUpTo(read)
  }

  #after(position: number): TrafficRead {
    const found = this.#kept.after(position, TRAFFIC_PAGE)
    return { numbers: found.map(({ number }) => number), events: found.map(({ item }) => item) }
  }

  /** Drops the oldest of an endpoint although it may be unread. Readers that keep up pay only for this check. */
  #lose(endpoint: string): void {
    const lost = this.#kept.dropOldest(endpoint)
    if (lost === undefined) return
    for (const { reader, reading } of this.#joined)
      if (reader.position < lost.number && reading.wants(lost.item.type)) reading.missed()
  }
}
