import type { Destination, OutgoingEvent } from '#events/destination.ts'
import { sizeOf } from '#events/line-event.ts'

/** Events up to the limits of a destination; a first one that exceeds them is sent alone. */
export class Batch {
  readonly events: OutgoingEvent[] = []
  readonly #limits: Pick<Destination, 'maxEvents' | 'maxBytes'>
  #bytes = 0

  constructor(limits: Pick<Destination, 'maxEvents' | 'maxBytes'>) {
    this.#limits = limits
  }

  /** False when it does not fit. */
  add(event: OutgoingEvent): boolean {
    const { maxEvents, maxBytes } = this.#limits
    const size = sizeOf(event)
    const full = this.events.length >= maxEvents || this.#bytes + size > maxBytes
    if (full && this.events.length > 0) return false
    this.events.push(event)
    this.#bytes += size
    return true
  }
}
