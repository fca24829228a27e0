import type { Socket } from 'node:net'
import { Http2FrameReader } from '#http2/frame-reader.ts'
import { defaultLimits, type Http2Limits } from '#http2/limits.ts'
import { Output } from '#http2/output.ts'
import {
  CANCEL,
  ConnectionFault,
  ENHANCE_YOUR_CALM,
  INTERNAL_ERROR,
  LAST_STREAM,
  NO_ERROR,
  PING,
  SETTINGS,
  SETTINGS_TIMEOUT,
} from '#http2/protocol.ts'
import type { RequestFields } from '#http2/request-fields.ts'
import { type ServerEvents, ServerFrameHandler } from '#http2/server-frames.ts'
import type { Http2ServerStream } from '#http2/server-stream.ts'
import { serverSettings } from '#http2/settings.ts'
import { readBorrowed, type BorrowedReader } from '#tunnel/socket-reads.ts'

const DRAIN_PING = Buffer.from('draining', 'latin1')

interface Http2ServerOptions {
  readonly limits?: Partial<Http2Limits>
  /** A well-formed request; the stream needs a reader before this returns. */
  request(stream: Http2ServerStream, head: RequestFields, isComplete: boolean): void
  /** The connection is closed, and all of its streams. */
  closed(): void
  /** A clock in milliseconds; it may advance in steps. */
  now(): number
}

interface Arrived {
  readonly stream: Http2ServerStream
  readonly head: RequestFields
  readonly isComplete: boolean
}

/** The server side of an HTTP/2 connection (RFC 9113), on a socket without a reader. */
export class Http2ServerConnection implements ServerEvents, BorrowedReader {
  readonly #socket: Socket
  readonly #options: Http2ServerOptions
  readonly #limits: Http2Limits
  readonly #output: Output
  readonly #handler: ServerFrameHandler
  readonly #reader: Http2FrameReader
  readonly #passLater = (): void => this.#pass()
  /** Requests of the current read: if a reset follows in it, they are not passed on. */
  #arrived: Arrived[] = []
  #isDraining = false
  #isClosing = false
  #hasSettingsAck = false
  /** When the last request ended, or when the connection began to wait for something else. */
  #since: number
  #written = 0
  #writtenSince: number

  constructor(socket: Socket, options: Http2ServerOptions) {
    const limits = { ...defaultLimits, ...options.limits }
    this.#socket = socket
    this.#options = options
    this.#limits = limits
    this.#since = this.#writtenSince = options.now()
    this.#output = new Output(socket, () => this.#handler.outflow.pump())
    const settings = serverSettings(limits)
    this.#output.frame(SETTINGS, 0, 0, settings, 0, settings.length)
    this.#handler = new ServerFrameHandler(this.#output, limits, this)
    this.#reader = new Http2FrameReader(this.#handler, 'client')
    socket.setNoDelay(true)
    socket.on('error', () => undefined)
    socket.on('close', () => this.#gone())
    readBorrowed(socket, this)
  }

  /** Requests without a complete response. */
  get open(): number {
    return this.#handler.streams.size
  }

  /** Accepts the requests that are in flight, and closes after the last response. */
  drain(): void {
    if (this.#isDraining || this.#isClosing) return
    this.#isDraining = true
    this.#since = this.#options.now()
    this.#output.goaway(LAST_STREAM, NO_ERROR)
    // Its acknowledgement shows that all is here that the client had sent before it knew.
    this.#output.frame(PING, 0, 0, DRAIN_PING, 0, DRAIN_PING.length)
  }

  /** Aborts the running requests. */
  cut(): void {
    for (const stream of this.#handler.streams.all()) stream.reset(CANCEL)
  }

  /** Sends the reason, and closes; requests are aborted. */
  close(code: number = NO_ERROR): void {
    if (this.#isClosing) return
    this.#isClosing = true
    this.#since = this.#options.now()
    this.#output.goaway(this.#handler.streams.last, code)
    this.#abort(code)
    this.#output.end()
  }

  /** To be called regularly. */
  checkTimeouts(now: number): void {
    const limits = this.#limits
    const waited = now - this.#since
    if (this.#isClosing) {
      if (waited > limits.closeMs) this.#socket.destroy()
    } else if (this.#stalledMs(now) > limits.stalledMs) {
      // A reset frees the buffers of the system at once.
      this.#socket.resetAndDestroy()
    } else if (!this.#hasSettingsAck && waited > limits.settingsMs) {
      this.close(SETTINGS_TIMEOUT)
    } else if (this.open > 0) {
      this.#checkStreams(now)
    } else if (waited > (this.#isDraining ? limits.drainMs : limits.idleMs)) {
      this.close()
    }
  }

  onRead(bytes: Buffer, length: number): void {
    if (this.#isClosing) return
    try {
      this.#reader.read(bytes, length)
    } catch (error) {
      this.close(error instanceof ConnectionFault ? error.code : INTERNAL_ERROR)
      return
    }
    if (this.#arrived.length === 0) return
    // A client that has aborted requests gets a moment to do it again, before a service sees them.
    if (this.#handler.meter.hasResets) setImmediate(this.#passLater)
    else this.#pass()
  }

  /** HTTP/2 has no half-closed connections. */
  end(): void {
    this.#isClosing = true
    this.#socket.destroy()
  }

  request(stream: Http2ServerStream, head: RequestFields, isComplete: boolean): void {
    this.#arrived.push({ stream, head, isComplete })
  }

  streamOver(): void {
    if (this.open > 0 || this.#isClosing) return
    this.#since = this.#options.now()
    if (this.#handler.isFinal) this.close()
  }

  settingsAcknowledged(): void {
    this.#hasSettingsAck = true
  }

  pingAcknowledged(): void {
    if (!this.#isDraining || this.#handler.isFinal) return
    this.#handler.isFinal = true
    if (this.open === 0) this.close()
    else this.#output.goaway(this.#handler.streams.last, NO_ERROR)
  }

  #pass(): void {
    const arrived = this.#arrived
    this.#arrived = []
    for (const { stream, head, isComplete } of arrived) {
      if (stream.isOver) continue
      try {
        this.#options.request(stream, head, isComplete)
      } catch {
        // An internal error costs this stream and nothing else.
        stream.reset(INTERNAL_ERROR)
      }
    }
  }

  #stalledMs(now: number): number {
    const { bytesWritten } = this.#socket
    if (bytesWritten !== this.#written || this.#output.waiting === 0) {
      this.#written = bytesWritten
      this.#writtenSince = now
    }
    return now - this.#writtenSince
  }

  /**
   * A client stalls responses by giving no credit, which the socket does not show; each costs memory here, a connection
   * to the service, and a slot in the agent.
   */
  #checkStreams(now: number): void {
    const { stalledMs, fewStalled, fewStalledMs } = this.#limits
    let stalled = 0
    for (const stream of this.#handler.streams.all()) {
      const waited = stream.stalledMs(now)
      if (waited > stalledMs) stream.reset(CANCEL)
      else if (waited > fewStalledMs && ++stalled > fewStalled) stream.reset(ENHANCE_YOUR_CALM)
      else stream.checkTimeouts(now)
    }
  }

  #abort(code: number): void {
    this.#arrived = []
    for (const stream of this.#handler.streams.all()) stream.abort(code)
  }

  #gone(): void {
    this.#isClosing = true
    this.#abort(CANCEL)
    this.#options.closed()
  }
}
