import type { Fields } from '#http/fields.ts'
import type { Framing } from '#http/body.ts'

/**
 * The head of a request, parsed once: routing, every decision and the bytes that are forwarded come from it alone.
 */
export interface RequestHead {
  readonly method: string
  /** Path and query as they are forwarded, always starting with "/" (or "*" for OPTIONS). */
  readonly target: string
  /** The target without its query. */
  readonly path: string
  /** The name asked for: lower case, without port and root dot. */
  readonly host: string
  /** Name and port as the visitor wrote them. */
  readonly authority: string
  /** What the service behind is told instead, where a module says so. */
  readonly upstreamHost?: string
  readonly version: '1.0' | '1.1' | '2'
  /** Whether another request may follow on the connection. */
  readonly keepAlive: boolean
  /** The protocol asked for by Upgrade, lower case; empty when none is. */
  readonly upgrade: string
  readonly expectsContinue: boolean
  readonly framing: Framing
  /**
   * All else that was sent. Left out: Host, Content-Length, Transfer-Encoding, the fields of the connection itself
   * (Connection and what it names, Keep-Alive, Proxy-Connection, TE unless "trailers", Upgrade) and every spelling of
   * what `isOwnName` knows, which is ours alone to say. The `Trailer` field stays.
   */
  readonly fields: Fields
}

/** The head of an answer. */
export interface ResponseHead {
  readonly status: number
  readonly reason: string
  readonly framing: Framing
  /** What Content-Length said although no content follows: answers to HEAD and 304. */
  readonly announcedLength?: number
  /** As in a request; Upgrade stays on a 101. */
  readonly fields: Fields
}

/** The field of every answer that names its request; ours alone to say. */
export const REQUEST_ID = 'adit-request-id'
