import { type ClientEvents, ClientFrameHandler } from '#http2/client-frames.ts'
import type { Http2ClientStream, OutgoingHead } from '#http2/client-stream.ts'
import { Http2FrameReader } from '#http2/frame-reader.ts'
import { defaultLimits, type Http2Limits } from '#http2/limits.ts'
import { Output } from '#http2/output.ts'
import {
  CANCEL,
  ConnectionFault,
  INTERNAL_ERROR,
  NO_ERROR,
  PREFACE,
  PROTOCOL_ERROR,
  SETTINGS,
} from '#http2/protocol.ts'
import { clientSettings } from '#http2/settings.ts'
import { StreamSink } from '#http2/stream-sink.ts'
import type { ByteStream, Sink } from '#tunnel/byte-stream.ts'
import { release } from '#tunnel/buffer-pool.ts'
import type { TunnelError } from '#tunnel/frame.ts'

interface Http2ClientOptions {
  readonly limits?: Partial<Http2Limits>
  /** The server has sent its settings; `streams`: how many it accepts at a time, if it has announced it. */
  settings(streams: number | undefined): void
  /** The connection accepts no more requests; it is closed after the last response. */
  finishing(): void
  /** The connection is closed, and all of its streams. */
  closed(error: TunnelError | undefined): void
}

/** The client side of an HTTP/2 connection (RFC 9113), on a stream without a reader. */
export class Http2ClientConnection implements ClientEvents, Sink {
  readonly #stream: ByteStream
  readonly #options: Http2ClientOptions
  readonly #limits: Http2Limits
  readonly #sink: StreamSink
  readonly #output: Output
  readonly #handler: ClientFrameHandler
  readonly #reader: Http2FrameReader
  #isFinishing = false
  #isClosing = false
  #closeTimer: NodeJS.Timeout | undefined

  constructor(stream: ByteStream, options: Http2ClientOptions) {
    const limits = { ...defaultLimits, ...options.limits }
    this.#stream = stream
    this.#options = options
    this.#limits = limits
    this.#sink = new StreamSink(stream)
    this.#sink.write(PREFACE, () => undefined)
    this.#output = new Output(this.#sink, () => this.#handler.outflow.pump())
    const settings = clientSettings(limits)
    this.#output.frame(SETTINGS, 0, 0, settings, 0, settings.length)
    this.#handler = new ClientFrameHandler(this.#output, limits, this)
    this.#reader = new Http2FrameReader(this.#handler, 'server')
  }

  /** Begins to read; events may be called at once. */
  start(): void {
    this.#stream.attach(this)
  }

  /** Whether `request` may be called. */
  get isOpen(): boolean {
    return !this.#isFinishing && this.#handler.canOpen
  }

  /** Streams that are not over. */
  get open(): number {
    return this.#handler.streams.size
  }

  /** Sends the head of a request; the stream needs a reader before this turn ends. */
  request(head: OutgoingHead): Http2ClientStream {
    return this.#handler.open(head)
  }

  /** Accepts no more requests, and closes after the last response. */
  finish(): void {
    this.#acceptNoMore()
    if (this.open === 0) this.close()
  }

  /** Closes at once; requests are aborted. */
  close(): void {
    this.#close(NO_ERROR, CANCEL)
  }

  data(bytes: Buffer): void {
    if (this.#isClosing) return
    try {
      this.#reader.read(bytes, bytes.length)
    } catch (error) {
      this.#close(error instanceof ConnectionFault ? error.code : INTERNAL_ERROR, PROTOCOL_ERROR)
    }
    release(bytes)
  }

  /** HTTP/2 has no half-closed connections. */
  end(): void {
    this.#stream.abort()
    this.closed(undefined)
  }

  writable(): void {
    this.#sink.writable()
  }

  closed(error: TunnelError | undefined): void {
    clearTimeout(this.#closeTimer)
    this.#isClosing = true
    this.#acceptNoMore()
    this.#abort(CANCEL)
    this.#options.closed(error)
  }

  settings(streams: number | undefined): void {
    this.#options.settings(streams)
  }

  goaway(): void {
    this.finish()
  }

  streamOver(): void {
    if (this.#isFinishing && this.open === 0) this.close()
  }

  #close(code: number, streamCode: number): void {
    if (this.#isClosing) return
    this.#isClosing = true
    this.#acceptNoMore()
    this.#output.goaway(0, code)
    this.#abort(streamCode)
    this.#output.end()
    // The peer may keep the stream open forever, and a half-closed stream counts as open in the agent.
    this.#closeTimer = setTimeout(() => this.end(), this.#limits.closeMs).unref()
  }

  #acceptNoMore(): void {
    if (this.#isFinishing) return
    this.#isFinishing = true
    this.#options.finishing()
  }

  #abort(code: number): void {
    for (const stream of this.#handler.streams.all()) stream.abort(code)
  }
}
