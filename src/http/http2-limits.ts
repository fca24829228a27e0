import type { ServerSessionOptions } from 'node:http2'
import { MAX_REQUEST_HEAD } from '#http/http1-request-head.ts'

/** Bytes a visitor may send on one stream before its reader has taken any: they may all wait in memory. */
export const STREAM_WINDOW = 256 * 1024
/** Node takes these off the socket at once and only the windows of the streams hold back, so it may be larger. */
export const CONNECTION_WINDOW = 1024 * 1024

export const IDLE_CONNECTION = 75_000
export const IDLE_BODY = 30_000
export const SETTINGS_ANSWER = 10_000
/** After a frame that was rejected: when it is seen whether the connection still works, and how long that may take. */
export const CHECK_AFTER = 250
export const CHECK_PATIENCE = 1000
/** For a request that may be on its way to an idle connection when the gateway stops. */
export const DRAIN_PATIENCE = 1000

const PER_WINDOW = 10_000

/** What one visitor connection may do. Node enforces these before any of our code runs. */
export const sessionOptions: ServerSessionOptions = {
  settings: {
    maxConcurrentStreams: 100,
    initialWindowSize: STREAM_WINDOW,
    // A little more than we accept, so that a head that is too large can be answered with 431 and not only reset.
    maxHeaderListSize: 2 * MAX_REQUEST_HEAD,
    enableConnectProtocol: false,
  },
  // Browsers send each cookie as a pair of its own; joined again they count as one of ours.
  maxHeaderListPairs: 256,
  // In megabytes. A hundred slow downloads hold about seven, and more than this refuses new streams.
  maxSessionMemory: 10,
  maxSettings: 32,
  maxOutstandingPings: 10,
  // nghttp2's own bucket stops a rapid reset inside one read of the socket, where our count would come late.
  streamResetBurst: 100,
  streamResetRate: 10,
  // Upstreams repeat fields that should be single; visitors of HTTP/1 get them as they are, and so do these.
  strictSingleValueFields: false,
  // Else values with blanks around them vanish without a word; so they get here, and are rejected.
  strictFieldWhitespaceValidation: false,
}

/** What a visitor may do too often only with bad intent, each in ten seconds. */
const allowance = { ping: 50, settings: 20, reset: 100, invalid: 50 } as const

export type Glitch = keyof typeof allowance

/** Counts a connection's odd frames. */
export class GlitchMeter {
  readonly #now: () => number
  #since = 0
  readonly #counts: Record<Glitch, number> = { ping: 0, settings: 0, reset: 0, invalid: 0 }

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** How many there were in the current window. */
  count(glitch: Glitch): number {
    return this.#counts[glitch]
  }

  /** False: too many of them. */
  tolerates(glitch: Glitch, times = 1): boolean {
    const now = this.#now()
    if (now - this.#since >= PER_WINDOW) {
      this.#since = now
      this.#counts.ping = this.#counts.settings = this.#counts.reset = this.#counts.invalid = 0
    }
    this.#counts[glitch] += times
    return this.#counts[glitch] <= allowance[glitch]
  }
}
