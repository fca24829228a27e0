import type { CaptureStore } from '#agent/capture/capture-store.ts'
import type { Exchange } from '#agent/capture/exchange.ts'
import { type BodyLength, Framing } from '#agent/capture/framing.ts'
import { requestBody, responseBody, statusOf } from '#agent/capture/head.ts'
import { type OnRequest, requestLine } from '#agent/request-tap.ts'
import type { Tap } from '#tunnel/splice.ts'

/** Where the requests of a tunnel are recorded. */
export interface Capture {
  readonly store: CaptureStore
  readonly tunnelName: string
}

export interface CaptureTapOptions {
  /** The exchange whose request is sent again. */
  readonly replayOf?: string
  readonly onRequest?: OnRequest | undefined
}

/** Records the exchanges of a connection while their bytes pass, without holding any of them back. */
export class CaptureTap implements Tap {
  readonly #capture: Capture
  readonly #clientAddr: string
  readonly #options: CaptureTapOptions
  readonly #requests: Framing
  readonly #responses: Framing
  /** Exchanges without a complete response, the oldest first. */
  readonly #open: Exchange[] = []
  #current: Exchange | undefined
  #isInterim = false

  constructor(capture: Capture, clientAddr: string, options: CaptureTapOptions = {}) {
    this.#capture = capture
    this.#clientAddr = clientAddr
    this.#options = options
    const { store } = capture
    this.#requests = new Framing({
      head: text => this.#requestHead(text),
      text: (text, headLength) => this.#current && store.addText(this.#current, 'request', text, headLength),
      bytes: bytes => this.#current && store.add(this.#current, 'request', bytes),
      end: () => (this.#current = undefined),
    })
    this.#responses = new Framing({
      head: text => this.#responseHead(text),
      text: (text, headLength) => this.#awaited && store.addText(this.#awaited, 'response', text, headLength),
      bytes: bytes => this.#awaited && store.add(this.#awaited, 'response', bytes),
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
    for (const exchange of this.#open) this.#capture.store.finish(exchange, false)
    this.#open.length = 0
  }

  /** The exchange whose final response passes now. */
  get #awaited(): Exchange | undefined {
    return this.#isInterim ? undefined : this.#open[0]
  }

  #requestHead(text: string): BodyLength {
    const { store, tunnelName } = this.#capture
    const method = text.slice(0, Math.max(0, text.indexOf(' ')))
    const { replayOf, onRequest } = this.#options
    const line = onRequest && requestLine(text)
    this.#current = store.begin({ tunnelName, clientAddr: this.#clientAddr, method, line, replayOf })
    this.#open.push(this.#current)
    return requestBody(text)
  }

  #responseHead(text: string): BodyLength {
    const [exchange] = this.#open
    const status = statusOf(text)
    // An interim response is not shown: the final one follows.
    this.#isInterim = status < 200 && status !== 101
    if (exchange && !this.#isInterim) this.#respond(exchange, status)
    const length = responseBody(text, status, exchange?.method ?? '')
    // What follows in both directions is another protocol.
    if (length === 'upgrade') this.#requests.finish()
    return length
  }

  #respond(exchange: Exchange, status: number): void {
    this.#capture.store.respond(exchange, status)
    const { line, firstByteMs = 0 } = exchange
    if (line) this.#options.onRequest?.({ ...line, status, durationMs: firstByteMs })
  }

  #responseEnd(): void {
    if (this.#isInterim) return
    const exchange = this.#open.shift()
    if (exchange) this.#capture.store.finish(exchange, true)
  }
}
