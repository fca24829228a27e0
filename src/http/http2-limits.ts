import type { ServerSessionOptions } from 'node:http2'
import { MAX_REQUEST_HEAD } from '#http/http1-request-head.ts'

/** Bytes that a client may send on one stream before its reader takes any: they may all be buffered. */
export const STREAM_WINDOW = 256 * 1024
/** Node takes these off the socket at once and only stream windows throttle, so it may be larger. */
export const CONNECTION_WINDOW = 1024 * 1024

export const IDLE_CONNECTION = 75_000
export const IDLE_BODY = 30_000
export const SETTINGS_ANSWER = 10_000
/** After a rejected frame: when the connection is probed, and how long that may take. */
export const CHECK_AFTER = 250
export const CHECK_PATIENCE = 1000
/** For a request that may be in flight to an idle connection when the gateway stops. */
export const DRAIN_PATIENCE = 1000

const PER_WINDOW = 10_000

/** Limits of one client connection. Node enforces these before any of our code runs. */
export const sessionOptions: ServerSessionOptions = {
  settings: {
    maxConcurrentStreams: 100,
    initialWindowSize: STREAM_WINDOW,
    // A little more than we accept, so that an oversized head gets 431 and not only a reset.
    maxHeaderListSize: 2 * MAX_REQUEST_HEAD,
    enableConnectProtocol: false,
  },
  // Browsers send each cookie as a separate pair; joined again they count as one.
  maxHeaderListPairs: 256,
  // In megabytes. A hundred slow downloads hold about seven; beyond this limit new streams are refused.
  maxSessionMemory: 10,
  maxSettings: 32,
  maxOutstandingPings: 10,
  // nghttp2's own bucket stops a rapid reset inside one socket read, where our count would be late.
  streamResetBurst: 100,
  streamResetRate: 10,
  // Upstreams repeat fields that should be single; HTTP/1 clients get them unchanged, and so do these.
  strictSingleValueFields: false,
  // Otherwise values with surrounding blanks vanish silently; this way they get here, and are rejected.
  strictFieldWhitespaceValidation: false,
}

/** Limits on frames that are abusive in large numbers, each in ten seconds. */
const allowance = { ping: 50, settings: 20, reset: 100, invalid: 50 } as const

export type Glitch = keyof typeof allowance

/** Counts abusive frames of a connection. */
export class GlitchMeter {
  readonly #now: () => number
  #since = 0
  readonly #counts: Record<Glitch, number> = { ping: 0, settings: 0, reset: 0, invalid: 0 }

  constructor(now: () => number = Date.now) {
    this.#now = now
  }

  /** The count in the current window. */
  count(glitch: Glitch): number {
    return this.#counts[glitch]
  }

  /** False: over the limit. */
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
