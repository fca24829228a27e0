import { randomFillSync } from 'node:crypto'
import type { ErrorName } from '#base/errors.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { Body } from '#http/body.ts'
import type { UserIdentity } from '#http/identity.ts'

/** The route of a request; shared by all requests that take it. */
export interface RouteInfo {
  /** The budget key of traffic records: the edge, the domain or address, or the tunnel. */
  readonly id?: string
  /** What responds there: a route of an edge, a domain's configuration, or a tunnel with its own address. */
  readonly endpoint?: 'edge' | 'domain' | 'ephemeral'
  /** Of the edge, the route, and the domain or address with its own modules; undefined if there is none. */
  readonly edgeId: string | undefined
  readonly routeId: string | undefined
  /** The route's path option, for display; undefined without a route. */
  readonly match?: string | undefined
  /** Names of the modules, in order. */
  readonly modules: readonly string[]
}

export interface Compressed {
  readonly coding: string
  /** Bytes saved in the response. */
  readonly saved: number
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const TIME_LENGTH = 9
const RANDOM_LENGTH = 18
// Random characters are expensive one by one.
const pool = Buffer.alloc(RANDOM_LENGTH * 256)
let characters = ''
let used = pool.length
let lastMs = -1
let timeText = ''

/** A regular time-ordered id, but created in a tenth of the usual time. */
function newRequestId(now: number): string {
  const ms = Math.floor(performance.timeOrigin + now)
  if (ms !== lastMs) {
    lastMs = ms
    timeText = `rq_${base62(ms)}`
  }
  if (used === pool.length) {
    randomFillSync(pool)
    for (let at = 0; at < pool.length; at++) pool[at] = ALPHABET.charCodeAt((pool[at] ?? 0) % 62)
    characters = pool.toString('latin1')
    used = 0
  }
  used += RANDOM_LENGTH
  return timeText + characters.slice(used - RANDOM_LENGTH, used)
}

function base62(value: number): string {
  let text = ''
  for (let digit = 0; digit < TIME_LENGTH; digit++) {
    text = ALPHABET.charAt(value % 62) + text
    value = Math.floor(value / 62)
  }
  return text
}

/** Follows a request to its end, if it is traced (OpenTelemetry). */
export interface FollowedRequest {
  replied(status: number, refusal: ErrorName | undefined): void
  ended(moment: number, whole: boolean): void
}

/** The record of one request, written by each stage. */
export class RequestContext {
  /** When the head was received, by `performance.now`. */
  readonly begun = performance.now()
  /** Sent to the client in the response, so that the request can be found again. */
  readonly id = newRequestId(this.begun)
  route: RouteInfo | undefined
  /** How many modules have allowed the request. */
  modulesPassed = 0
  /** When the request was sent to the backend; 0 before. */
  upstreamStartedAt = 0
  /** When the response head arrived. */
  respondedAt = 0
  /** The last backend and tunnel used. */
  tunnel: TunnelRecord | undefined
  backendId: string | undefined
  /** The authenticated user. */
  identity: UserIdentity | undefined
  /** The client id at the identity provider. */
  appClientId: string | undefined
  /** The user name of basic auth, valid or not. */
  username: string | undefined
  /** The circuit breaker is open, and allowed this request as a trial. */
  whileOpen = false
  /** How the response was compressed; `saved` is known at its end. */
  compressed: Compressed | undefined
  /** Whether the upstream connection was reused; undefined before. */
  reused: boolean | undefined
  /** The request body, if there is one. */
  content: Pick<Body, 'counted'> | undefined
  /** When it was received completely; 0 before. */
  contentEnded = 0
  /** The response body; undefined before, and without one. */
  answer: Pick<Body, 'counted' | 'framing'> | undefined
  /** Bytes of an upgraded connection. */
  upgraded: { readonly received: number; readonly sent: number } | undefined
  /** Its number in the request log, and the slot. */
  logNumber = 0
  logSlot = 0
  /** Reports the request at its end; undefined unless there is a subscriber. */
  onComplete: ((moment: number) => void) | undefined
  /** Set for traced requests. */
  span: FollowedRequest | undefined
  /** Details of a module besides its decision. */
  notes: string[] | undefined

  note(text: string): void {
    ;(this.notes ??= []).push(text)
  }
}
