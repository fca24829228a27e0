import type { TLSSocket } from 'node:tls'
import { MAX_REQUEST_HEAD } from '#http/http1-request-head.ts'
import type { RequestOptions } from '#http/http2/exchange.ts'
import { StreamRequest } from '#http/http2/stream-request.ts'
import { timeoutChecker } from '#http/timeout-checker.ts'
import { defaultLimits } from '#http2/limits.ts'
import { Http2ServerConnection } from '#http2/server-connection.ts'

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

const now = (): number => timeoutChecker.now

/** Serves a client connection with negotiated HTTP/2. */
export function serveHttp2(socket: TLSSocket, options: Http2Options): Http2Connection {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const { idle, settingsPatience, drainPatience } = options
  const connection = new Http2ServerConnection(socket, {
    limits: {
      // A little more than is accepted, so that an oversized head gets 431 and not only a reset.
      listBytes: 2 * MAX_REQUEST_HEAD,
      idleMs: idle ?? defaultLimits.idleMs,
      settingsMs: settingsPatience ?? defaultLimits.settingsMs,
      drainMs: drainPatience ?? defaultLimits.drainMs,
    },
    request: (stream, head, isComplete) => new StreamRequest(stream, options, now).start(head, isComplete),
    closed: () => {
      timeoutChecker.delete(connection)
      resolve()
    },
    now,
  })
  timeoutChecker.add(connection)
  return {
    closed,
    get open() {
      return connection.open
    },
    drain: () => connection.drain(),
    cut: () => connection.cut(),
    destroy: () => connection.close(),
  }
}
