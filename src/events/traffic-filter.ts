import type { Log } from '#base/log.ts'
import type { EventSource } from '#contract/events/source.ts'
import type { OutgoingEvent } from '#events/destination.ts'
import { LineEvent } from '#events/line-event.ts'
import { selectionOf, type Selection } from '#events/selection.ts'
import { gatewayEvents } from '#contract/events/index.ts'

/** The traffic selection of a subscription. */
export class TrafficFilter {
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

  /** The fields that gateways must record for it, by event type. */
  get requiredFields(): ReadonlyMap<string, ReadonlySet<string>> {
    return new Map([...this.#selections].map(([type, { requiredFields: needs }]) => [type, needs]))
  }

  /** The event to send; undefined when it is not selected. */
  apply(event: OutgoingEvent): OutgoingEvent | undefined {
    const selection = this.#selections.get(event.type)
    if (event instanceof LineEvent && selection?.matchesAll(event.fields)) return event
    const body = selection?.apply(event.body)
    return body === undefined ? undefined : { id: event.id, type: event.type, at: event.at, body }
  }

  #open(source: EventSource, log: Log): void {
    try {
      this.#selections.set(source.type, selectionOf(source))
    } catch (error) {
      // An invalid source must not stop the others; and what it was to filter must not be sent.
      log.error({ error, type: source.type }, 'event source cannot be used, and nothing of it is sent')
    }
  }
}
