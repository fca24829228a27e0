import type { Framing } from '#http/body.ts'
import type { RequestHead } from '#http/head.ts'
import type { Http1ClientLimits } from '#http/http1-limits.ts'

/**
 * head: waiting for a complete request head. serving: there is no response yet. responding: it has begun. discarding:
 * it is complete, the request body is not. upgraded: another protocol. closing: we have closed, and wait for the client
 * to do so.
 */
export type ConnectionPhase = 'head' | 'serving' | 'responding' | 'discarding' | 'upgraded' | 'closing'

/** What the decisions depend on. The connection alone changes it. */
export interface ConnectionState {
  phase: ConnectionPhase
  requests: number
  /** Another request may follow the current one. */
  keepAlive: boolean
  isDraining: boolean
  /** The client has half-closed. */
  hasClientEnded: boolean
}

type Row<Action extends string> = Readonly<Record<ConnectionPhase, Action>>

/** The endpoint has responded, or sends an interim response. */
const reply: Row<'send' | 'drop'> = {
  head: 'drop',
  serving: 'send',
  responding: 'drop',
  discarding: 'drop',
  upgraded: 'drop',
  closing: 'drop',
}

/** The request cannot be served. There is no second response, and the start of the next request is unknown. */
const error: Row<'respond' | 'abort' | 'ignore'> = {
  head: 'respond',
  serving: 'respond',
  responding: 'abort',
  discarding: 'abort',
  upgraded: 'abort',
  closing: 'ignore',
}

/** The response has failed before its first byte was written, so that an error can replace it. */
const unsendable: Row<'respond' | 'ignore'> = {
  head: 'ignore',
  serving: 'ignore',
  responding: 'respond',
  discarding: 'ignore',
  upgraded: 'ignore',
  closing: 'ignore',
}

/** The request body violates the protocol. */
const invalidBody: Row<'reject' | 'close'> = {
  head: 'close',
  serving: 'reject',
  responding: 'reject',
  discarding: 'close',
  upgraded: 'close',
  closing: 'close',
}

/** The request body is complete. */
const bodyComplete: Row<'wait' | 'next'> = {
  head: 'wait',
  serving: 'wait',
  responding: 'wait',
  discarding: 'next',
  upgraded: 'wait',
  closing: 'wait',
}

/** More of a body that is not needed has arrived than is worth reading. */
const bodyExcess: Row<'hold' | 'close'> = {
  head: 'hold',
  serving: 'hold',
  responding: 'hold',
  discarding: 'close',
  upgraded: 'hold',
  closing: 'hold',
}

/** The client has half-closed after a complete request. */
const end: Row<'wait' | 'forward' | 'abort' | 'close'> = {
  head: 'close',
  serving: 'wait',
  responding: 'wait',
  discarding: 'close',
  upgraded: 'forward',
  closing: 'close',
}

/** The client has half-closed within a request body. */
const endWithinBody: typeof end = { ...end, serving: 'abort', responding: 'abort' }

/** The same where the request is for this server, not for a service: what is missing is the client's fault alone. */
const endWithinOwnBody: Row<'wait' | 'forward' | 'abort' | 'close' | 'reject'> = {
  ...endWithinBody,
  serving: 'reject',
}

/** The gateway stops now. An idle connection is closed by `drain`. */
const cut: Row<'wait' | 'abort'> = {
  head: 'wait',
  serving: 'abort',
  responding: 'abort',
  discarding: 'abort',
  upgraded: 'abort',
  closing: 'abort',
}

/** What a client connection does, by event and phase. */
export const connectionPolicy = {
  reply,
  error,
  unsendable,
  invalidBody,
  bodyComplete,
  bodyExcess,
  end,
  endWithinBody,
  endWithinOwnBody,
  cut,
} as const

/** Whether another request may follow one with this head; `requests` includes it. */
export const keepsAlive = (
  { keepAlive }: Pick<RequestHead, 'keepAlive'>,
  { isDraining, requests }: ConnectionState,
  { maxRequests }: Http1ClientLimits,
): boolean => keepAlive && !isDraining && requests < maxRequests

/** Whether a client waits for 100 (Continue) that it will not get: it may send its body or the next request. */
export const isBodyUnsure = (
  { expectsContinue }: Pick<RequestHead, 'expectsContinue'>,
  isContinued: boolean,
  isBodyDue: boolean,
): boolean => expectsContinue && !isContinued && isBodyDue

/** A request body, as far as it has arrived. */
interface ReceivedBody {
  readonly framing: Framing
  readonly finished: boolean
  readonly left: number
  readonly unwanted: boolean
}

/** Whether the rest of a body is too long to be read only so that the connection can be reused. */
const isTooLong = ({ framing, left }: ReceivedBody, { unwantedBytes }: Http1ClientLimits): boolean =>
  framing.kind === 'length' && left > unwantedBytes

/** Whether a response closes the connection because nothing has read the body, or will. */
export const leavesBody = (
  body: (ReceivedBody & { readonly isRead: boolean }) | undefined,
  limits: Http1ClientLimits,
): boolean =>
  body !== undefined && !body.finished && (body.unwanted || !body.isRead) && isTooLong(body, limits)

/** What follows a complete response; `isHeld`: more of the body has arrived than was read. */
export function afterResponse(
  body: ReceivedBody | undefined,
  isHeld: boolean,
  { keepAlive }: ConnectionState,
  limits: Http1ClientLimits,
): 'next' | 'discard' | 'close' {
  if (body === undefined || body.finished) return 'next'
  return !keepAlive || isTooLong(body, limits) || (body.unwanted && isHeld) ? 'close' : 'discard'
}

/** What follows a request whose response and body are complete; `isPipelined`: bytes of the next have arrived. */
export const afterRequest = (
  { keepAlive, hasClientEnded }: ConnectionState,
  isPipelined: boolean,
): 'next' | 'close' => (!keepAlive || (hasClientEnded && !isPipelined) ? 'close' : 'next')

/** What a connection can wait for, its time limit, and what happens after that. */
export const waits = {
  firstRequest: { limit: 'headMs', action: 'close' },
  nextRequest: { limit: 'keepAliveMs', action: 'close' },
  /** The gateway stops, and a request may be on its way. */
  lastRequest: { limit: 'drainMs', action: 'close' },
  onlyRequest: { limit: 'drainNewMs', action: 'close' },
  restOfHead: { limit: 'headMs', action: 'reject' },
  body: { limit: 'bodyIdleMs', action: 'reject' },
  /** Most clients that have half-closed have disconnected. */
  response: { limit: 'halfClosedMs', action: 'abort' },
  /** The service has half-closed; a client that neither closes nor sends has gone. */
  endOfUpgraded: { limit: 'halfClosedMs', action: 'abort' },
  close: { limit: 'lingerMs', action: 'abort' },
} as const satisfies Record<
  string,
  { readonly limit: keyof Http1ClientLimits; readonly action: 'close' | 'reject' | 'abort' }
>

/** What the reader of a connection waits for. */
interface ReadProgress {
  /** A part of a head has arrived. */
  readonly isWithinHead: boolean
  /** A body is incomplete, and its reader accepts bytes. */
  readonly isReceiving: boolean
}

/** What a connection waits for; undefined: for something without a time limit here. */
export function waitOf(
  { phase, requests, isDraining, hasClientEnded }: ConnectionState,
  { isWithinHead, isReceiving }: ReadProgress,
  hasServiceEnded: boolean,
): keyof typeof waits | undefined {
  switch (phase) {
    case 'head':
      if (isWithinHead) return 'restOfHead'
      if (isDraining) return requests === 0 ? 'onlyRequest' : 'lastRequest'
      return requests === 0 ? 'firstRequest' : 'nextRequest'
    case 'serving':
    case 'responding':
      if (isReceiving) return 'body'
      return hasClientEnded ? 'response' : undefined
    case 'upgraded':
      return hasServiceEnded ? 'endOfUpgraded' : undefined
    default:
      return 'close'
  }
}
