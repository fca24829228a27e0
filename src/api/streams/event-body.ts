import type { Body, BodySink } from '#http/body.ts'
import { sendChunk } from '#http/send-chunk.ts'

const LAST_CHUNK = Buffer.from('0\r\n\r\n')

interface BodyEvents {
  /** The client has read what was waiting. */
  readonly drained: () => void
  /** Nothing more is sent: it has ended, or its client has disconnected. */
  readonly closed: () => void
}

/** A body that is written as it arises. What a slow client does not read waits here. */
export class EventBody implements Body {
  readonly framing = { kind: 'chunked' } as const
  readonly #events: BodyEvents
  readonly #waiting: Buffer[] = []
  #unread = 0
  #sink: BodySink | undefined
  #raw = false
  #paused = false
  #ended = false
  #closed = false

  constructor(events: BodyEvents) {
    this.#events = events
  }

  /** Bytes that the client does not read yet, besides those in its socket. */
  get unread(): number {
    return this.#unread
  }

  write(text: string): void {
    if (this.#ended || this.#closed) return
    const bytes = Buffer.from(text)
    this.#waiting.push(bytes)
    this.#unread += bytes.length
    this.#flush()
  }

  /** Ends the response after what is waiting. */
  end(): void {
    this.#ended = true
    this.#flush()
  }

  read(sink: BodySink, raw: boolean): void {
    this.#sink = sink
    this.#raw = raw
    this.#flush()
  }

  pause(): void {
    this.#paused = true
  }

  resume(): void {
    this.#paused = false
    this.#flush()
    if (!this.#paused && !this.#closed) this.#events.drained()
  }

  cancel(): void {
    if (this.#closed) return
    this.#closed = true
    this.#waiting.length = this.#unread = 0
    this.#events.closed()
  }

  #flush(): void {
    const sink = this.#sink
    if (sink === undefined || this.#closed) return
    while (!this.#paused) {
      const bytes = this.#waiting.shift()
      if (bytes === undefined) break
      this.#unread -= bytes.length
      if (this.#raw) sendChunk(sink, bytes)
      else sink.data(bytes)
    }
    if (!this.#ended || this.#paused) return
    this.#closed = true
    if (this.#raw) sink.data(LAST_CHUNK)
    sink.end('')
    this.#events.closed()
  }
}
