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
import type { RequestOptions } from '#http/http2-exchange.ts'
import { Http2Request } from '#http/http2-request.ts'
import { UnreadStreams } from '#http/http2-unread.ts'
import { timeoutChecker, type HasTimeouts } from '#http/timeout-checker.ts'

const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_FLAG_END_STREAM, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } =
  constants
const { NGHTTP2_PROTOCOL_ERROR, NGHTTP2_SETTINGS_TIMEOUT } = constants

/** The highest stream number: all requests sent so far will get a response. */
const LAST_STREAM = 2 ** 31 - 1

const CLOSE_GRACE_MS = 1000

/** Below this rate no closer look is needed. */
const SUSPICIOUS_BYTES = 32 * 1024

export interface Http2Options extends RequestOptions {
  /** Milliseconds without any request after which the connection is closed. */
  readonly idle?: number
  readonly settingsPatience?: number
  readonly drainPatience?: number
}

export interface Http2Connection {
  readonly closed: Promise<void>
  /** Requests without a response yet. */
  readonly open: number
  /** Accepts no new requests and closes after the last response. */
  drain(): void
  /** Aborts the running requests. */
  cut(): void
  /** Closes the connection and aborts all of its requests. */
  destroy(): void
}

/** Serves a client connection with negotiated HTTP/2. */
export const serveHttp2 = (socket: TLSSocket, options: Http2Options): Http2Connection =>
  new Http2ServerConnection(socket, options)

// Every stream, session and socket that fails is also closed, which is handled.
const ignored = (): void => undefined

class Http2ServerConnection implements Http2Connection, HasTimeouts {
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
    // HTTP/2 has no half-closed connections, and node would wait for the rest.
    socket.on('end', () => this.destroy())
    session.setLocalWindowSize(CONNECTION_WINDOW)
    session.on('stream', (stream, _headers, flags, pairs) => this.#accept(stream, flags, pairs))
    session.on('ping', () => this.#count('ping'))
    session.on('remoteSettings', () => this.#count('settings'))
    session.setTimeout(options.idle ?? IDLE_CONNECTION, () => this.#idle())
    this.#expectSettingsAnswer(options.settingsPatience ?? SETTINGS_ANSWER)
    timeoutChecker.add(this)
    session.once('close', () => timeoutChecker.delete(this))
  }

  get open(): number {
    return this.#requests.size
  }

  drain(): void {
    const session = this.#session
    if (this.#draining || session.destroyed) return
    this.#draining = true
    if (this.open > 0) this.#sendGoaway()
    else this.#awaitLastRequest(this.#options.drainPatience ?? DRAIN_PATIENCE)
  }

  cut(): void {
    for (const request of this.#requests) request.cut()
  }

  destroy(code = NGHTTP2_NO_ERROR): void {
    this.#session.destroy(undefined, code)
    // Node waits until its last frames are sent, which a client that does not read can delay forever.
    const timer = setTimeout(() => this.#socket.destroy(), CLOSE_GRACE_MS).unref()
    this.#socket.once('close', () => clearTimeout(timer))
  }

  /** Requests that crossed our GOAWAY are still served: new ones are refused only a round trip later. */
  #sendGoaway(): void {
    const session = this.#session
    session.goaway(NGHTTP2_NO_ERROR, LAST_STREAM)
    session.ping(() => {
      if (!session.destroyed) session.close()
    })
  }

  /** Node stops reading after GOAWAY when nothing is open, so an idle connection gets none yet. */
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
    // A rapid reset follows its HEADERS at once, often in the same socket read: the service should not see the request.
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
    if (this.#draining && this.open === 1) this.#sendGoaway()
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
    // Our own resets are of the other two kinds, except for responses that the client does not read.
    if (stream.rstCode !== NGHTTP2_NO_ERROR && stream.rstCode !== NGHTTP2_INTERNAL_ERROR) this.#count('reset')
  }

  checkTimeouts(now: number): void {
    if (this.#session.destroyed) return
    this.#unread.checkTimeouts(now)
    this.#countOverhead(now)
  }

  /** Detects what node does not report: oversized heads, and frames that carry nothing. */
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
    // Clients number their streams 1, 3, 5 and so on.
    const begun = ((this.#session.state.lastProcStreamID ?? 0) + 1) / 2
    const turnedAway = begun - this.#accepted
    this.#count('reset', turnedAway - this.#turnedAway)
    this.#turnedAway = turnedAway
  }

  #count(glitch: Glitch, times = 1): void {
    if (this.#session.destroyed || this.#meter.tolerates(glitch, times)) return
    this.destroy(NGHTTP2_ENHANCE_YOUR_CALM)
  }

  /** A connection that nghttp2 has given up sends nothing more, so a PING on it stays unacknowledged. */
  #frameRejected(): void {
    this.#count('invalid')
    const session = this.#session
    if (this.#checking || session.destroyed) return
    this.#checking = true
    // Responses in flight go first.
    const ping = setTimeout(() => {
      // A session is destroyed some time before it is closed.
      if (session.destroyed) return
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
    // A client may wait for its response as long as the response takes.
    if (this.open === 0 && !this.#session.destroyed) this.#session.close()
  }

  /** Clients that never acknowledge our settings, or send nothing at all, are closed. */
  #expectSettingsAnswer(patience: number): void {
    const timer = setTimeout(() => this.destroy(NGHTTP2_SETTINGS_TIMEOUT), patience).unref()
    this.#session.once('localSettings', () => clearTimeout(timer))
    this.#session.once('close', () => clearTimeout(timer))
  }
}
