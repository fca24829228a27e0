import { randomFillSync } from 'node:crypto'
import type { ErrorName } from '#base/errors.ts'
import { wallTime } from '#base/wall-time.ts'
import type { CapturedBy } from '#registry/always-captured.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { Body } from '#http/body.ts'
import type { UserIdentity } from '#http/identity.ts'

/** What requests and connections are counted by. */
export interface UsageSeries {
  readonly by: 'endpoint' | 'credential'
  /** The id of the edge, reservation or credential; the URL of a tunnel with its own address. */
  readonly name: string
  /** The user or bot whose usage it is; empty if all members share the endpoint. */
  readonly owner: string
  /** What was counted since the last publication, written by the counter. */
  counts: object | undefined
}

/** The route of a request; shared by all requests that take it. */
export interface RouteInfo {
  /** The budget key of traffic records: the edge, the domain or address, or the tunnel. */
  readonly id?: string
  /** What responds there: a route of an edge, a domain's configuration, a tunnel with its own address, or the API. */
  readonly endpoint?: 'edge' | 'domain' | 'ephemeral' | 'api'
  /** Of the edge, the route, and the domain or address with its own modules; undefined if there is none. */
  readonly edgeId: string | undefined
  readonly routeId: string | undefined
  /** The route's path option, for display; undefined without a route. */
  readonly match?: string | undefined
  /** Names of the modules, in order. */
  readonly modules: readonly string[]
  /** How its requests are counted. */
  readonly usage?: UsageSeries | undefined
  /** The user or bot that owns the edge, domain or tunnel; empty if members share it. */
  readonly ownerId?: string
  /** Its requests are captured all the time. */
  readonly capturedBy?: CapturedBy | undefined
  /** Its share of the request log, written there. */
  logged?: object | undefined
}

interface Compressed {
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
  const ms = Math.floor(wallTime(now))
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

/** Written by the client connection, or by a replay in its place. */
export interface ConnectionSection {
  /** The request body, if there is one. */
  content: Pick<Body, 'counted'> | undefined
  /** When it was received completely; 0 before. */
  contentEnded: number
  /** Bytes of an upgraded connection. */
  upgraded: { readonly received: number; readonly sent: number } | undefined
  /** The request that it repeats. */
  replayOf: string | undefined
  /** It goes straight to the backend: a replay by the owner. */
  skipsModules: boolean
  /** Its webhook signature is made here: a replay by the owner. */
  resigns: boolean
  /** The member who sends it again, and may do so only at own endpoints; undefined for admins and clients. */
  replayedBy: string | undefined
}

/** Written by routing. */
export interface RoutingSection {
  route: RouteInfo | undefined
  /** How many modules have allowed the request. */
  modulesPassed: number
  /**
   * When the first module got the request, and when each passed it on, by `performance.now`; NaN for those that have not,
   * absent without modules.
   */
  moduleTimes: number[] | undefined
}

/** Written by sign-in. */
interface SignInSection {
  /** The authenticated user. */
  identity: UserIdentity | undefined
  /** The client id at the identity provider. */
  appClientId: string | undefined
}

/** Written by the modules that have more to report than their decision. */
export interface ModulesSection {
  /** The user name of basic auth, valid or not. */
  username: string | undefined
  /** The circuit breaker is open, and allowed this request as a trial. */
  whileOpen: boolean
  /** How the response was compressed; `saved` is known at its end. */
  compressed: Compressed | undefined
}

/** Written by the backends. */
export interface UpstreamSection {
  /** When the request was sent to the backend; 0 before. */
  upstreamStartedAt: number
  /** The last backend and tunnel used. */
  tunnel: TunnelRecord | undefined
  backendId: string | undefined
  /** Whether the upstream connection was reused; undefined before. */
  reused: boolean | undefined
  /** Milliseconds to open the upstream connection; undefined if one was open. */
  dialMs: number | undefined
}

/** Written by telemetry. */
interface TelemetrySection {
  /** When the response head arrived. */
  respondedAt: number
  /** Whether it failed at the gateway, the agent or the service; not for errors of the client. */
  failed: boolean
  /** The response body; undefined before, and without one. */
  answer: Pick<Body, 'counted' | 'framing'> | undefined
  /** Its number in the request log, and the slot. */
  logNumber: number
  logSlot: number
  /** Reports the request at its end; undefined unless there is a subscriber. */
  onComplete: ((moment: number) => void) | undefined
  /** Set for traced requests. */
  span: FollowedRequest | undefined
  /** The record of its headers and bodies; undefined if it is not captured. */
  captured: object | undefined
}

type Sections = ConnectionSection &
  RoutingSection &
  SignInSection &
  ModulesSection &
  UpstreamSection &
  TelemetrySection

/**
 * The record of one request. Everything can be read by anyone; a section is written only by its component, as
 * `context.upstream.tunnel = …`. Sections are views of the same object, because one for each would cost allocations.
 */
export class RequestContext implements Readonly<Sections> {
  /** When the head was received, by `performance.now`. */
  readonly begun = performance.now()
  /** Sent to the client in the response, so that the request can be found again. */
  readonly id = newRequestId(this.begun)
  readonly route: RouteInfo | undefined = undefined
  readonly modulesPassed: number = 0
  readonly moduleTimes: number[] | undefined = undefined
  readonly replayOf: string | undefined = undefined
  readonly skipsModules: boolean = false
  readonly resigns: boolean = false
  readonly replayedBy: string | undefined = undefined
  readonly dialMs: number | undefined = undefined
  readonly upstreamStartedAt: number = 0
  readonly respondedAt: number = 0
  readonly tunnel: TunnelRecord | undefined = undefined
  readonly backendId: string | undefined = undefined
  readonly identity: UserIdentity | undefined = undefined
  readonly appClientId: string | undefined = undefined
  readonly username: string | undefined = undefined
  readonly whileOpen: boolean = false
  readonly compressed: Compressed | undefined = undefined
  readonly reused: boolean | undefined = undefined
  readonly content: Pick<Body, 'counted'> | undefined = undefined
  readonly contentEnded: number = 0
  readonly answer: Pick<Body, 'counted' | 'framing'> | undefined = undefined
  readonly upgraded: ConnectionSection['upgraded'] = undefined
  readonly failed: boolean = false
  readonly logNumber: number = 0
  readonly logSlot: number = 0
  readonly onComplete: ((moment: number) => void) | undefined = undefined
  readonly span: FollowedRequest | undefined = undefined
  readonly captured: object | undefined = undefined
  #notes: string[] | undefined

  get connection(): ConnectionSection {
    return this
  }

  get routing(): RoutingSection {
    return this
  }

  get signIn(): SignInSection {
    return this
  }

  get modules(): ModulesSection {
    return this
  }

  get upstream(): UpstreamSection {
    return this
  }

  get telemetry(): TelemetrySection {
    return this
  }

  /** Details of the way through modules and backends, in order. */
  get notes(): readonly string[] | undefined {
    return this.#notes
  }

  note(text: string): void {
    ;(this.#notes ??= []).push(text)
  }
}
