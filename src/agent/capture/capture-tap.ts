import type { CaptureStore } from '#agent/capture/capture-store.ts'
import type { CapturedExchange } from '#agent/capture/exchange.ts'
import { MessageFraming } from '#agent/capture/framing.ts'
import { type BodyLength, responseBody, type ResponseStart } from '#agent/capture/head.ts'
import { type OnRequest, requestLine } from '#agent/request-tap.ts'
import type { Tap } from '#tunnel/splice.ts'

/** Where the requests of a tunnel are recorded. */
export interface Capture {
  readonly store: CaptureStore
  readonly tunnelName: string
}

interface CaptureTapOptions {
  /** The exchange whose request is sent again. */
  readonly replayOf?: string
  readonly onRequest?: OnRequest | undefined
}

const FIRST_LOOK = 2048
const MAX_METHOD = 32
const SPACE = 0x20
const HEAD = Buffer.from('HEAD ')

/**
 * Records the exchanges of a connection while their bytes pass, without holding any of them back. The gateway has one
 * request at a time under way on a connection, so all that it sends before the end of the response belongs to that
 * request, and only responses are parsed.
 */
export class CaptureTap implements Tap {
  readonly #capture: Capture
  readonly #clientAddr: string
  readonly #options: CaptureTapOptions
  readonly #responses: MessageFraming
  #exchange: CapturedExchange | undefined
  /** The beginning of a request whose method is not complete. */
  #start: Buffer | undefined
  /** The method of its request is HEAD. */
  #isToHead = false
  #isInterim = false
  #isOver = false
  /** When the bytes arrived that are parsed; read once for them all, because a clock costs as much as a copy. */
  #now = 0

  constructor(capture: Capture, clientAddr: string, options: CaptureTapOptions = {}) {
    this.#capture = capture
    this.#clientAddr = clientAddr
    this.#options = options
    const { store } = capture
    this.#responses = new MessageFraming({
      head: start => this.#responseHead(start),
      bytes: bytes => this.#answered && store.add(this.#answered, 'response', bytes),
      end: () => this.#responseEnd(),
    })
  }

  sent(bytes: Buffer): void {
    if (this.#exchange) this.#capture.store.add(this.#exchange, 'request', bytes)
    else if (!this.#isOver) this.#begin(bytes)
  }

  received(bytes: Buffer): void {
    // A service may send a response to no request before it closes an idle connection.
    if (this.#exchange === undefined) return
    this.#now = performance.now()
    this.#responses.push(bytes)
    if (this.#responses.isLost) this.closed(false)
  }

  /** No response is awaited. */
  get isIdle(): boolean {
    return this.#exchange === undefined
  }

  /** The connection has ended. `isClean`: both sides had finished. */
  closed(isClean: boolean): void {
    this.#now = performance.now()
    if (isClean) this.#responses.finish()
    if (this.#exchange) this.#capture.store.finish(this.#exchange, false, this.#now)
    this.#exchange = undefined
    this.#isOver = true
  }

  /** The exchange whose final response passes now. */
  get #answered(): CapturedExchange | undefined {
    return this.#isInterim ? undefined : this.#exchange
  }

  #begin(bytes: Buffer): void {
    const all = this.#start ? Buffer.concat([this.#start, bytes]) : bytes
    this.#start = undefined
    const end = methodEnd(all)
    if (end === -1 && all.length <= MAX_METHOD) {
      this.#start = Buffer.from(all)
      return
    }
    // The rest of an upload whose response was complete before it.
    if (end < 1) return
    const { store, tunnelName } = this.#capture
    const { replayOf, onRequest } = this.#options
    const line = onRequest && requestLine(all.toString('latin1', 0, FIRST_LOOK))
    this.#isToHead = end + 1 === HEAD.length && HEAD.every((code, at) => all[at] === code)
    this.#exchange = store.begin({ tunnelName, clientAddr: this.#clientAddr, line, replayOf })
    store.add(this.#exchange, 'request', all)
  }

  #responseHead(start: ResponseStart): BodyLength {
    const exchange = this.#exchange
    const { status } = start
    // An interim response is not shown: the final one follows.
    this.#isInterim = status < 200 && status !== 101
    if (exchange && !this.#isInterim) this.#respond(exchange, status)
    return responseBody(start, this.#isToHead)
  }

  #respond(exchange: CapturedExchange, status: number): void {
    this.#capture.store.respond(exchange, status, this.#now)
    const { line, firstByteMs = 0 } = exchange
    if (line) this.#options.onRequest?.({ ...line, status, durationMs: firstByteMs })
  }

  #responseEnd(): void {
    if (this.#isInterim) return
    const exchange = this.#exchange
    this.#exchange = undefined
    if (exchange) this.#capture.store.finish(exchange, true, this.#now)
  }
}

/** Where the method of a request ends; -1 if it has no end within its longest length. */
function methodEnd(bytes: Buffer): number {
  for (let at = 0; at <= MAX_METHOD && at < bytes.length; at++) if (bytes[at] === SPACE) return at
  return -1
}
