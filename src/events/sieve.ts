import type { Log } from '#base/log.ts'
import type { EventSource } from '#contract/events/source.ts'
import type { OutgoingEvent } from '#events/destination.ts'
import { LineEvent } from '#events/line-event.ts'
import { selectionOf, type Selection } from '#events/selection.ts'
import { gatewayEvents } from '#contract/events/index.ts'

/** What a subscription lets through of the events of traffic. */
export class Sieve {
  readonly #selections = new Map<string, Selection>()

  constructor(sources: readonly EventSource[], log: Log) {
    for (const source of sources) if (gatewayEvents.has(source.type)) this.#open(source, log)
  }

  get isEmpty(): boolean {
    return this.#selections.size === 0
  }

  wants(type: string): boolean {
    return this.#selections.has(type)
  }

  /** What gateways must tell for it, by the type of event. */
  get needs(): ReadonlyMap<string, ReadonlySet<string>> {
    return new Map([...this.#selections].map(([type, { needs }]) => [type, needs]))
  }

  /** The event as it is to be sent; undefined when it is not. */
  pass(event: OutgoingEvent): OutgoingEvent | undefined {
    const selection = this.#selections.get(event.type)
    if (event instanceof LineEvent && selection?.takesAll(event.fields)) return event
    const body = selection?.apply(event.body)
    return body === undefined ? undefined : { id: event.id, type: event.type, at: event.at, body }
  }

  #open(source: EventSource, log: Log): void {
    try {
      this.#selections.set(source.type, selectionOf(source))
    } catch (error) {
      // One source must not end the delivery of all others; and what it was to hold back must not be sent.
      log.error({ error, type: source.type }, 'a source of events cannot be used, and nothing of it is sent')
    }
  }
}
