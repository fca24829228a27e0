import type { HttpCall } from '#api/http-server.ts'
import { streamHead } from '#api/answer.ts'
import { DROPPED } from '#contract/streams.ts'

/** Unread bytes of a client; further messages are dropped and counted. */
const MAX_UNREAD = 1_048_576

/** A response of server-sent events to one client. */
export class EventStream {
  readonly #httpCall: HttpCall
  #dropped = 0

  constructor(httpCall: HttpCall) {
    this.#httpCall = httpCall
    const { response } = httpCall
    response.writeHead(200, streamHead(httpCall))
    response.on('drain', () => this.#reportDropped())
    // Proxies and browsers wait for the first byte.
    this.comment('stream')
  }

  /** `id` and `data` must not contain line breaks, as JSON text does not. */
  send(event: string, data: string, id?: string): void {
    if (this.#httpCall.response.writableLength > MAX_UNREAD) {
      this.#dropped++
      return
    }
    this.#reportDropped()
    this.#write(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`)
  }

  /** Messages that were lost before they reached this stream. */
  dropped(count: number): void {
    this.#dropped += count
    this.#reportDropped()
  }

  /** Ignored by clients; it shows them and proxies that the connection is alive. */
  comment(text: string): void {
    this.#write(`: ${text}\n\n`)
  }

  end(): void {
    this.#httpCall.response.end()
  }

  #reportDropped(): void {
    const count = this.#dropped
    if (count === 0) return
    this.#dropped = 0
    this.#write(`event: ${DROPPED.event}\ndata: {"count":${count}}\n\n`)
  }

  #write(text: string): void {
    const { response } = this.#httpCall
    if (!response.writableEnded && !response.destroyed) response.write(text)
  }
}
