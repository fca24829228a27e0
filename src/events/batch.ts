import type { Destination, OutgoingEvent } from '#events/destination.ts'
import { mostBytesOf, sizeOf } from '#events/line-event.ts'

/** Events up to the limits of a destination; a first one that exceeds them is sent alone. */
export class Batch {
  readonly events: OutgoingEvent[] = []
  readonly #limits: Pick<Destination, 'maxEvents' | 'maxBytes'>
  /** At least as many as the bytes of the events. */
  #most = 0
  /** The exact bytes of the first so many events. */
  #bytes = 0
  #counted = 0

  constructor(limits: Pick<Destination, 'maxEvents' | 'maxBytes'>) {
    this.#limits = limits
  }

  /** False when it does not fit. */
  add(event: OutgoingEvent): boolean {
    const isFull = this.events.length >= this.#limits.maxEvents || !this.#hasRoomFor(event)
    if (isFull && this.events.length > 0) return false
    this.events.push(event)
    return true
  }

  /** Bytes are counted only near the limit: that takes longer than all the rest. */
  #hasRoomFor(event: OutgoingEvent): boolean {
    const { maxBytes } = this.#limits
    this.#most += mostBytesOf(event)
    if (this.#most <= maxBytes) return true
    for (const each of this.events.slice(this.#counted)) this.#bytes += sizeOf(each)
    this.#counted = this.events.length
    return this.#bytes + sizeOf(event) <= maxBytes
  }
}
