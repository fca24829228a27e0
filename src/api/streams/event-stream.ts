import { EventBody } from '#api/streams/event-body.ts'
import { DROPPED } from '#contract/streams.ts'
import type { Body } from '#http/body.ts'

/** Unread bytes of a client; further messages are dropped and counted. */
const MAX_UNREAD = 1_048_576

/** Server-sent events for one client. */
export class EventStream {
  readonly #body: EventBody
  #dropped = 0

  /** `closed` is called once, when the stream has ended or its client has disconnected. */
  constructor(closed: () => void = () => undefined) {
    this.#body = new EventBody({ drained: () => this.#reportDropped(), closed })
    // Proxies and browsers wait for the first byte.
    this.comment('stream')
  }

  /** For the response. */
  get body(): Body {
    return this.#body
  }

  /** `id` and `data` must not contain line breaks, as JSON text does not. */
  send(event: string, data: string, id?: string): void {
    if (this.#body.unread > MAX_UNREAD) {
      this.#dropped++
      return
    }
    this.#reportDropped()
    this.#body.write(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`)
  }

  /** Messages that were lost before they reached this stream. */
  dropped(count: number): void {
    this.#dropped += count
    this.#reportDropped()
  }

  /** Ignored by clients; it shows them and proxies that the connection is alive. */
  comment(text: string): void {
    this.#body.write(`: ${text}\n\n`)
  }

  end(): void {
    this.#body.end()
  }

  #reportDropped(): void {
    const count = this.#dropped
    if (count === 0) return
    this.#dropped = 0
    this.#body.write(`event: ${DROPPED.event}\ndata: {"count":${count}}\n\n`)
  }
}
