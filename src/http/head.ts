import type { ProxyFields } from '#base/trusted-proxies.ts'
import type { Fields } from '#http/fields.ts'
import type { Framing } from '#http/body.ts'

/** A request head, parsed once: routing, every decision and the forwarded bytes come from it alone. */
export interface RequestHead {
  readonly method: string
  /** Path and query as they are forwarded, always starting with "/" (or "*" for OPTIONS). */
  readonly target: string
  /** The target without its query. */
  readonly path: string
  /** The requested host: lower case, without port and root dot. */
  readonly host: string
  /** Host and port as the client wrote them. */
  readonly authority: string
  /** The Host header for the service, if a module sets one. */
  readonly upstreamHost?: string
  readonly version: '1.0' | '1.1' | '2'
  /** Whether another request may follow on the connection. */
  readonly keepAlive: boolean
  /** The protocol of Upgrade, lower case; empty without one. */
  readonly upgrade: string
  readonly expectsContinue: boolean
  readonly framing: Framing
  /**
   * All other fields. Left out: Host, Content-Length, Transfer-Encoding, hop-by-hop fields (Connection and what it
   * names, Keep-Alive, Proxy-Connection, TE unless "trailers", Upgrade) and every spelling of what `isOwnName` knows,
   * which only the gateway sets. The `Trailer` field stays.
   */
  readonly fields: Fields
  /** What proxies report about the client. It counts only if they are trusted, and is never forwarded. */
  readonly proxyFields?: ProxyFields | undefined
}

/** A response head. */
export interface ResponseHead {
  readonly status: number
  readonly reason: string
  readonly framing: Framing
  /** Content-Length although no body follows: responses to HEAD and 304. */
  readonly announcedLength?: number
  /** As in a request; Upgrade stays on a 101. */
  readonly fields: Fields
  /** What a connection has found out about sending it: a head that a service repeats is one object. */
  written?: unknown
}

/** The response header with the request id; only the gateway sets it. */
export const REQUEST_ID = 'adit-request-id'
