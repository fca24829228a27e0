import type { CaptureStore } from '#agent/capture/capture-store.ts'
import type { Exchange } from '#agent/capture/exchange.ts'
import { type BodyLength, Framing } from '#agent/capture/framing.ts'
import { requestBody, responseBody, statusOf } from '#agent/capture/head.ts'
import type { Tap } from '#tunnel/splice.ts'

/** Where the requests of a tunnel are recorded. */
export interface Capture {
  readonly store: CaptureStore
  readonly tunnelName: string
}

interface Open {
  readonly exchange: Exchange
  readonly method: string
}

/** Records the exchanges of a connection while their bytes pass, without holding any of them back. */
export class CaptureTap implements Tap {
  readonly #capture: Capture
  readonly #clientAddr: string
  readonly #replayOf: string | undefined
  readonly #requests: Framing
  readonly #responses: Framing
  /** Exchanges without a complete response, the oldest first. */
  readonly #open: Open[] = []
  #current: Open | undefined
  #isInterim = false

  constructor(capture: Capture, clientAddr: string, replayOf?: string) {
    this.#capture = capture
    this.#clientAddr = clientAddr
    this.#replayOf = replayOf
    this.#requests = new Framing({
      head: text => this.#requestHead(text),
      bytes: bytes => this.#current && this.#capture.store.add(this.#current.exchange, 'request', bytes),
      end: () => (this.#current = undefined),
    })
    this.#responses = new Framing({
      head: text => this.#responseHead(text),
      bytes: bytes => this.#responseBytes(bytes),
      end: () => this.#responseEnd(),
    })
  }

  sent(bytes: Buffer): void {
    this.#requests.push(bytes)
  }

  received(bytes: Buffer): void {
    this.#responses.push(bytes)
  }

  /** No response is awaited. */
  get isIdle(): boolean {
    return this.#open.length === 0
  }

  /** The connection has ended. `isClean`: both sides had finished. */
  closed(isClean: boolean): void {
    if (isClean) this.#responses.finish()
    for (const { exchange } of this.#open) this.#capture.store.finish(exchange, false)
    this.#open.length = 0
  }

  #requestHead(text: string): BodyLength {
    const exchange = this.#capture.store.begin(this.#capture.tunnelName, this.#clientAddr, this.#replayOf)
    const method = text.slice(0, Math.max(0, text.indexOf(' ')))
    this.#current = { exchange, method }
    this.#open.push(this.#current)
    return requestBody(text)
  }

  #responseHead(text: string): BodyLength {
    const [open] = this.#open
    const status = statusOf(text)
    // An interim response is not shown: the final one follows.
    this.#isInterim = status < 200 && status !== 101
    if (open && !this.#isInterim) this.#capture.store.respond(open.exchange, status)
    const length = responseBody(text, status, open?.method ?? '')
    // What follows in both directions is another protocol.
    if (length === 'upgrade') this.#requests.finish()
    return length
  }

  #responseBytes(bytes: Buffer): void {
    const [open] = this.#open
    if (open && !this.#isInterim) this.#capture.store.add(open.exchange, 'response', bytes)
  }

  #responseEnd(): void {
    if (this.#isInterim) return
    const open = this.#open.shift()
    if (open) this.#capture.store.finish(open.exchange, true)
  }
}
