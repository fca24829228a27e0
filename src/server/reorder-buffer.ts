import type { OutgoingEvent } from '#events/destination.ts'
import { sizeOf } from '#events/line-event.ts'

export type PublishEvents = (events: readonly OutgoingEvent[], dropped: number) => void

export const START = 'agent_session_start.v0'
export const STOP = 'agent_session_stop.v0'

const HOLD_MS = 100
const MAX_EVENTS = 10_000
const MAX_BYTES = 16_777_216

/**
 * Sorts events. Agent events are known at once, while gateways batch client events for a moment and other processes
 * take longer; so an agent event waits for earlier events, and later ones wait behind it. Without agent events nothing
 * is held. Times are RFC 3339 in UTC with milliseconds, so their text order is the time order.
 */
export class ReorderBuffer {
  readonly #publish: PublishEvents
  readonly #now: () => string
  readonly #holdMs: number
  #held: OutgoingEvent[] = []
  #bytes = 0
  #dropped = 0
  /** Events up to here have had time to arrive when the timer fires. */
  #watermark = ''
  #timer: NodeJS.Timeout | undefined

  /** `now` in the form of event times. */
  constructor(publish: PublishEvents, now: () => string, holdMs = HOLD_MS) {
    this.#publish = publish
    this.#now = now
    this.#holdMs = holdMs
  }

  /** An agent has connected or disconnected. */
  add(event: OutgoingEvent): void {
    if (this.#timer === undefined) this.#wait()
    this.#keep([event])
  }

  /** Events from gateways. */
  publish(events: readonly OutgoingEvent[], dropped: number): void {
    if (this.#timer === undefined) {
      this.#publish(events, dropped)
      return
    }
    this.#dropped += dropped
    this.#keep(events)
  }

  /** Emits all held events. */
  flush(): void {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#release(this.#held.toSorted(inTime), [])
  }

  #wait(): void {
    this.#watermark = this.#now()
    this.#timer = setTimeout(() => this.#waited(), this.#holdMs).unref()
  }

  #keep(events: readonly OutgoingEvent[]): void {
    for (const event of events) {
      this.#held.push(event)
      this.#bytes += sizeOf(event)
    }
    if (this.#held.length > MAX_EVENTS || this.#bytes > MAX_BYTES) this.flush()
  }

  #waited(): void {
    this.#timer = undefined
    const ordered = this.#held.toSorted(inTime)
    const isDue = ({ at }: OutgoingEvent): boolean => at <= this.#watermark
    // Without an agent event the rest has nothing to wait for.
    if (ordered.every(event => isDue(event) || rankOf(event) === 0)) {
      this.#release(ordered, [])
      return
    }
    const due = ordered.findIndex(event => !isDue(event))
    this.#release(ordered.slice(0, due), ordered.slice(due))
    this.#wait()
  }

  #release(events: readonly OutgoingEvent[], rest: OutgoingEvent[]): void {
    const dropped = this.#dropped
    this.#held = rest
    this.#bytes = rest.reduce((sum, event) => sum + sizeOf(event), 0)
    this.#dropped = 0
    this.#publish(events, dropped)
  }
}

/** In the same millisecond an agent connects before its clients' events, and disconnects after them. */
const rankOf = ({ type }: OutgoingEvent): number => (type === START ? -1 : type === STOP ? 1 : 0)

function inTime(one: OutgoingEvent, other: OutgoingEvent): number {
  if (one.at !== other.at) return one.at < other.at ? -1 : 1
  return rankOf(one) - rankOf(other)
}
