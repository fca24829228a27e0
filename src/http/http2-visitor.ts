import {
  constants,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { keepAfterFrameErrors } from '#http/http2-errors.ts'
import { guarded } from '#http/http2-guard.ts'
import {
  CHECK_AFTER,
  CHECK_PATIENCE,
  CONNECTION_WINDOW,
  DRAIN_PATIENCE,
  GlitchMeter,
  IDLE_CONNECTION,
  SETTINGS_ANSWER,
  sessionOptions,
  type Glitch,
} from '#http/http2-limits.ts'
import { OverheadMeter } from '#http/http2-overhead.ts'
import { Http2Request, type RequestOptions } from '#http/http2-request.ts'
import { UnreadStreams } from '#http/http2-unread.ts'
import { sweeper, type Swept } from '#http/sweeper.ts'

const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_FLAG_END_STREAM, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } =
  constants
const { NGHTTP2_PROTOCOL_ERROR, NGHTTP2_SETTINGS_TIMEOUT } = constants

/** No stream has a higher number: "all that you sent will be answered". */
const LAST_STREAM = 2 ** 31 - 1

const LAST_WORDS = 1000

/** Less than this in a second is not worth a closer look. */
const SUSPICIOUS_BYTES = 32 * 1024

export interface Http2Options extends RequestOptions {
  /** Milliseconds without any request after which the connection is closed. */
  readonly idle?: number
  readonly settingsPatience?: number
  readonly drainPatience?: number
}

export interface Http2Connection {
  readonly closed: Promise<void>
  /** Requests that are not answered yet. */
  readonly open: number
  /** Takes no new requests and closes when the last one is answered. */
  drain(): void
  /** Ends the requests that run. */
  cut(): void
  /** Gives up the connection and all of its requests. */
  destroy(): void
}

/** Serves a visitor's connection on which HTTP/2 was agreed. */
export const serveHttp2 = (socket: TLSSocket, options: Http2Options): Http2Connection =>
  new VisitorConnection(socket, options)

// Every stream, session and socket that fails is closed as well, and that is what counts.
const ignored = (): void => undefined

class VisitorConnection implements Http2Connection, Swept {
  readonly closed: Promise<void>
  readonly #session: ServerHttp2Session
  readonly #options: Http2Options
  readonly #meter = new GlitchMeter()
  readonly #overhead = new OverheadMeter()
  readonly #requests = new Set<Http2Request>()
  readonly #socket: TLSSocket
  readonly #unread = new UnreadStreams()
  #accepted = 0
  #turnedAway = 0
  #bytesRead = 0
  #draining = false
  #checking = false

  constructor(socket: TLSSocket, options: Http2Options) {
    this.#options = options
    this.#socket = socket
    // The session listens only while it lives, and a socket may fail after it.
    socket.on('error', ignored)
    const session = performServerHandshake(socket, sessionOptions)
    this.#session = session
    this.closed = new Promise(resolve => session.once('close', () => resolve()))
    session.on('error', ignored)
    keepAfterFrameErrors(session, () => this.#frameRejected())
    // HTTP/2 knows no half-closed connection, and node would wait for the rest of it.
    socket.on('end', () => this.destroy())
    session.setLocalWindowSize(CONNECTION_WINDOW)
    session.on('stream', (stream, _headers, flags, pairs) => this.#accept(stream, flags, pairs))
    session.on('ping', () => this.#count('ping'))
    session.on('remoteSettings', () => this.#count('settings'))
    session.setTimeout(options.idle ?? IDLE_CONNECTION, () => this.#idle())
    this.#expectSettingsAnswer(options.settingsPatience ?? SETTINGS_ANSWER)
    sweeper.add(this)
    session.once('close', () => sweeper.delete(this))
  }

  get open(): number {
    return this.#requests.size
  }

  drain(): void {
    const session = this.#session
    if (this.#draining || session.destroyed) return
    this.#draining = true
    if (this.open > 0) this.#sayGoodbye()
    else this.#awaitLastRequest(this.#options.drainPatience ?? DRAIN_PATIENCE)
  }

  cut(): void {
    for (const request of this.#requests) request.cut()
  }

  destroy(code = NGHTTP2_NO_ERROR): void {
    this.#session.destroy(undefined, code)
    // Node waits until its last words are sent, which a visitor that does not read can put off for ever.
    const timer = setTimeout(() => this.#socket.destroy(), LAST_WORDS).unref()
    this.#socket.once('close', () => clearTimeout(timer))
  }

  /** Requests that crossed our notice on the way are still answered: only a round trip later the door is shut. */
  #sayGoodbye(): void {
    const session = this.#session
    session.goaway(NGHTTP2_NO_ERROR, LAST_STREAM)
    session.ping(() => {
      if (!session.destroyed) session.close()
    })
  }

  /** Node reads no further once it has said goodbye and nothing is open, so an idle connection is told nothing yet. */
  #awaitLastRequest(patience: number): void {
    const timer = setTimeout(() => {
      if (this.open === 0) this.#session.close()
    }, patience)
    this.#session.once('close', () => clearTimeout(timer))
  }

  #accept(stream: ServerHttp2Stream, flags: number, pairs: readonly string[]): void {
    this.#accepted++
    this.#overhead.head(pairs)
    stream.on('error', ignored)
    // A rapid reset follows its HEADERS at once, often in the same read of the socket: a service need not see the request.
    if (this.#meter.count('reset') === 0) this.#begin(stream, flags, pairs)
    else setImmediate(() => this.#begin(stream, flags, pairs))
  }

  #begin(stream: ServerHttp2Stream, flags: number, pairs: readonly string[]): void {
    if (stream.destroyed || stream.closed) {
      this.#count('reset')
      return
    }
    this.#unread.add(stream)
    const request = new Http2Request(stream, this.#options)
    this.#requests.add(request)
    if (this.#draining && this.open === 1) this.#sayGoodbye()
    stream.on('close', () => {
      this.#left(stream, request)
      guarded(stream, () => request.closed())
    })
    guarded(stream, () => request.start(pairs, (flags & NGHTTP2_FLAG_END_STREAM) !== 0))
  }

  #left(stream: ServerHttp2Stream, request: Http2Request): void {
    this.#requests.delete(request)
    this.#unread.delete(stream)
    this.#overhead.content(request.received, request.unfinished)
    if (this.#draining && this.open === 0 && !this.#session.destroyed) this.#session.close()
    // Our own resets are of the other two kinds, except those of responses that the client does not read.
    if (stream.rstCode !== NGHTTP2_NO_ERROR && stream.rstCode !== NGHTTP2_INTERNAL_ERROR) this.#count('reset')
  }

  sweep(now: number): void {
    if (this.#session.destroyed) return
    this.#unread.sweep(now)
    this.#countOverhead(now)
  }

  /** Looks for what node handles without telling: heads that are too large, and frames that carry nothing. */
  #countOverhead(now: number): void {
    const { bytesRead, bytesWritten } = this.#socket
    if (this.#session.destroyed || bytesRead - this.#bytesRead < SUSPICIOUS_BYTES) return
    this.#bytesRead = bytesRead
    let content = 0
    for (const request of this.#requests) content += request.received
    if (!this.#overhead.tolerates(now, bytesRead, bytesWritten, content)) {
      this.destroy(NGHTTP2_ENHANCE_YOUR_CALM)
      return
    }
    // Visitors number their streams 1, 3, 5 and so on.
    const begun = ((this.#session.state.lastProcStreamID ?? 0) + 1) / 2
    const turnedAway = begun - this.#accepted
    this.#count('reset', turnedAway - this.#turnedAway)
    this.#turnedAway = turnedAway
  }

  #count(glitch: Glitch, times = 1): void {
    if (this.#session.destroyed || this.#meter.tolerates(glitch, times)) return
    this.destroy(NGHTTP2_ENHANCE_YOUR_CALM)
  }

  /** A connection that nghttp2 has given up sends nothing any more, so a PING on it stays without an answer. */
  #frameRejected(): void {
    this.#count('invalid')
    const session = this.#session
    if (this.#checking || session.destroyed) return
    this.#checking = true
    // Answers that are on their way go first.
    const ping = setTimeout(() => {
      session.ping(() => {
        clearTimeout(timer)
        this.#checking = false
      })
    }, CHECK_AFTER).unref()
    const timer = setTimeout(() => this.destroy(NGHTTP2_PROTOCOL_ERROR), CHECK_AFTER + CHECK_PATIENCE).unref()
    session.once('close', () => {
      clearTimeout(ping)
      clearTimeout(timer)
    })
  }

  #idle(): void {
    // A visitor may wait for its answer as long as the answer takes.
    if (this.open === 0 && !this.#session.destroyed) this.#session.close()
  }

  /** A visitor that never agrees to our limits is not kept, nor one that says nothing at all. */
  #expectSettingsAnswer(patience: number): void {
    const timer = setTimeout(() => this.destroy(NGHTTP2_SETTINGS_TIMEOUT), patience).unref()
    this.#session.once('localSettings', () => clearTimeout(timer))
    this.#session.once('close', () => clearTimeout(timer))
  }
}
