import { defaultHeadLimits, type HeadLimits } from '#http/http1-request-head.ts'

/** Time and size limits of a client connection. */
export interface Http1ClientLimits extends HeadLimits {
  /** From the first byte of a head to its last; also from the connection to the first byte. */
  readonly headMs: number
  /** From the first byte of a request to the last of its body. */
  readonly requestMs: number
  /** Without a byte of a body that is being read. */
  readonly bodyIdleMs: number
  /** Without the client reading any buffered data. */
  readonly writeStallMs: number
  readonly keepAliveMs: number
  /** For an unread body, after the response. */
  readonly lingerMs: number
  /** Without a byte of the response, after the client half-closed: most that do have disconnected. */
  readonly halfClosedMs: number
  /** For a request that may be in flight to an idle connection when the gateway stops. */
  readonly drainMs: number
  /** The same for a connection without any request yet: a client does not repeat a request that is lost on a new one. */
  readonly drainNewMs: number
  readonly maxRequests: number
  /** Bytes of an unread body that are drained so that the connection can be reused. */
  readonly unwantedBytes: number
  /** Bytes of pipelined requests that are read while one is running. */
  readonly waitingBytes: number
}

export const defaultClientLimits: Http1ClientLimits = {
  ...defaultHeadLimits,
  headMs: 10_000,
  requestMs: Infinity,
  bodyIdleMs: 30_000,
  writeStallMs: 60_000,
  keepAliveMs: 75_000,
  lingerMs: 5_000,
  halfClosedMs: 30_000,
  drainMs: 1000,
  drainNewMs: 5000,
  maxRequests: 1000,
  unwantedBytes: 65_536,
  waitingBytes: 65_536,
}
