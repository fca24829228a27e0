import { randomFillSync } from 'node:crypto'
import type { ErrorName } from '#base/errors.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import type { Body } from '#http/body.ts'
import type { Identity } from '#http/identity.ts'

/** What a request was led to; one for all requests that take the same way. */
export interface Way {
  /** What memory of traffic is divided by: the edge, the domain or address, or the tunnel. */
  readonly id?: string
  /** What answers there: a route of an edge, what is configured for a domain, or a tunnel with an address of its own. */
  readonly endpoint?: 'edge' | 'domain' | 'ephemeral'
  /** Of the edge, the route, and the domain or address with modules of its own; undefined where there is none. */
  readonly edgeId: string | undefined
  readonly routeId: string | undefined
  /** What the route asks of paths, for people; undefined where there is no route. */
  readonly match?: string | undefined
  /** Names of the modules in the order in which they are met. */
  readonly modules: readonly string[]
}

export interface Compressed {
  readonly coding: string
  /** Bytes by which the answer is shorter. */
  readonly saved: number
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const TIME_LENGTH = 9
const RANDOM_LENGTH = 18
// Random characters cost most when asked for one by one.
const pool = Buffer.alloc(RANDOM_LENGTH * 256)
let characters = ''
let used = pool.length
let lastMs = -1
let timeText = ''

/** In the form of every id, and in the order of time, but made in a tenth of the time that others take. */
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

/** What follows a request to its end, where one does (OpenTelemetry). */
export interface FollowedRequest {
  replied(status: number, refusal: ErrorName | undefined): void
  ended(moment: number, whole: boolean): void
}

/** What became of one request, noted by each stage as it comes there. */
export class Trace {
  /** When the head had come, by `performance.now`. */
  readonly begun = performance.now()
  /** Given to the visitor with the answer, so that the request can be found again. */
  readonly id = newRequestId(this.begun)
  way: Way | undefined
  /** How many of the way's modules have let the request through. */
  passed = 0
  /** When the backend was asked; 0 while it was not. */
  asked = 0
  /** When the head of the answer was there. */
  answered = 0
  /** Who was asked last. */
  tunnel: TunnelRecord | undefined
  backendId: string | undefined
  /** Who the visitor is, once somebody vouches for it. */
  identity: Identity | undefined
  /** The client of the identity provider that visitors are sent to. */
  appClientId: string | undefined
  /** The name that came with a password, whether or not it was the right one. */
  username: string | undefined
  /** The circuit breaker is open, and let this one through to see how the service does. */
  whileOpen = false
  /** How the answer was compressed; `saved` is known when it has left. */
  compressed: Compressed | undefined
  /** Whether the connection to the service had served another request before; undefined while there is none. */
  reused: boolean | undefined
  /** What comes behind the head, where something does. */
  content: Pick<Body, 'counted'> | undefined
  /** When the last of it had come; 0 while it has not. */
  contentEnded = 0
  /** What comes behind the head of the answer; undefined while there is none, and where none is sent. */
  answer: Pick<Body, 'counted' | 'framing'> | undefined
  /** Bytes of what is spoken after a change of protocol. */
  upgraded: { readonly received: number; readonly sent: number } | undefined
  /** The number under which it is kept, once it is, and the slot. */
  kept = 0
  keptAt = 0
  /** Tells of the request when it has ended; undefined unless somebody wants to hear. */
  tell: ((moment: number) => void) | undefined
  /** Set while traces are made and the request is one of those that are traced. */
  span: FollowedRequest | undefined
  /** What a module has to say beyond its verdict. */
  notes: string[] | undefined

  note(text: string): void {
    ;(this.notes ??= []).push(text)
  }
}
