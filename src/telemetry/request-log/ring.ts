import type { ErrorName } from '#base/errors.ts'
import { wallTime } from '#base/wall-time.ts'
import type { Reply, HttpClientConnection } from '#http/exchange.ts'
import type { RequestHead } from '#http/head.ts'
import { ModuleTimes } from '#telemetry/request-log/module-times.ts'
import { bytesReceived, bytesSent } from '#telemetry/transferred.ts'
import type { RequestContext, RouteInfo } from '#http/request-context.ts'

/** One stored request. */
export interface KeptRequest {
  readonly id: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly ip: string
  readonly scheme: 'http' | 'https'
  /** Undefined when the head could not be read. */
  readonly httpVersion: string | undefined
  /** Undefined without TLS. */
  readonly tlsVersion: string | undefined
  /** Empty when the head could not be read. */
  readonly method: string
  readonly host: string
  /** Without its query, which may contain secrets; long ones are truncated. */
  readonly path: string
  readonly status: number
  readonly refusal: ErrorName | undefined
  readonly route: Pick<RouteInfo, 'edgeId' | 'routeId' | 'modules'> | undefined
  readonly passed: number
  /** When the first module got it and when each passed it on, after the start of the request. */
  readonly moduleTimes: readonly number[]
  readonly replayOf: string | undefined
  /** Milliseconds; undefined without TLS, and when a connection was open. */
  readonly tlsMs: number | undefined
  readonly dialMs: number | undefined
  readonly tunnelId: string | undefined
  readonly backendId: string | undefined
  readonly notes: readonly string[]
  /** Milliseconds after the start; undefined for what has not happened. */
  readonly asked: number | undefined
  readonly answered: number
  readonly ended: number | undefined
  /** Body bytes of the request, and of its response; undefined before the end. */
  readonly received: number | undefined
  readonly sent: number | undefined
  /** Whether the response was sent completely. */
  readonly whole: boolean
}

/** An endpoint, and how many slots it has; one without any is not known any more. */
class LoggedEndpoint {
  readonly id: string
  slots = 0

  constructor(id: string) {
    this.id = id
  }
}

/** Of each slot: the id, the texts one after the other, and numbers from here on. */
const SLOT_BYTES = 536
const NUMBERS_AT = 480
const ID_BYTES = 30
const MAX_METHOD = 20
const MAX_IP = 45
const MAX_HOST = 120
const MAX_PATH = 255

/** Offset of a number in its slot, in units of its own size. */
const [begunAt, receivedAt, sentAt] = [60, 61, 62] as const
const [askedAt, answeredAt, endedAt] = [126, 127, 128] as const
const statusAt = 258
const [passedAt, schemeAt, wholeAt, httpVersionAt, tlsVersionAt] = [518, 519, 520, 521, 522] as const
/** How long each text is. */
const lengthsAt = 523
const [tlsMsAt, dialMsAt] = [132, 133] as const
/** Stored as the index in these; the most common first. */
const httpVersions: readonly (string | undefined)[] = ['1.1', '2', '1.0']
const tlsVersions: readonly (string | undefined)[] = ['TLSv1.3', 'TLSv1.2', 'TLSv1.1', 'TLSv1']

/**
 * The last requests, some of each endpoint. Their texts are copied into one block of memory: as objects they would be
 * promoted, and the collector would have to move them. Long-lived objects are kept by reference.
 */
export class RequestRing {
  readonly #size: number
  readonly #bytes: Buffer
  /** The same memory. */
  readonly #doubles: Float64Array
  readonly #floats: Float32Array
  readonly #shorts: Uint16Array
  readonly #routes: (RouteInfo | undefined)[]
  readonly #tunnelIds: (string | undefined)[]
  readonly #backendIds: (string | undefined)[]
  readonly #refusals: (ErrorName | undefined)[]
  readonly #notes: (readonly string[] | undefined)[]
  readonly #moduleTimes: ModuleTimes
  readonly #replayed: (string | undefined)[]
  /** The endpoint of each slot. */
  readonly #endpoints: (LoggedEndpoint | undefined)[]
  readonly #known = new Map<string, LoggedEndpoint>()
  /** The number of the request in each slot; 0 for an empty one. */
  readonly #numbers: Float64Array
  /** Requests stored so far; the next one's number is one more. */
  #count = 0
  #at = 0

  constructor(size: number) {
    this.#size = size
    const memory = new ArrayBuffer(size * SLOT_BYTES)
    this.#bytes = Buffer.from(memory)
    this.#doubles = new Float64Array(memory)
    this.#floats = new Float32Array(memory)
    this.#shorts = new Uint16Array(memory)
    this.#routes = Array.from({ length: size })
    this.#tunnelIds = Array.from({ length: size })
    this.#backendIds = Array.from({ length: size })
    this.#refusals = Array.from({ length: size })
    this.#notes = Array.from({ length: size })
    this.#moduleTimes = new ModuleTimes(size)
    this.#replayed = Array.from({ length: size })
    this.#endpoints = Array.from({ length: size })
    this.#numbers = new Float64Array(size)
  }

  put(
    client: HttpClientConnection,
    head: RequestHead | undefined,
    reply: Reply,
    context: RequestContext,
  ): void {
    if (this.#size === 0) return
    const slot = this.#slotFor(context.route)
    context.telemetry.logNumber = ++this.#count
    context.telemetry.logSlot = slot
    this.#numbers[slot] = context.logNumber
    this.#putNumbers(slot, context, reply.head.status)
    const from = slot * (SLOT_BYTES / 4)
    this.#floats[from + tlsMsAt] = client.tls?.handshakeMs ?? Number.NaN
    this.#floats[from + dialMsAt] = context.dialMs ?? Number.NaN
    this.#putProtocols(slot * SLOT_BYTES, client, head)
    this.#putTexts(slot * SLOT_BYTES, context.id, client.ip, head)
    this.#routes[slot] = context.route
    this.#tunnelIds[slot] = context.tunnel?.id
    this.#backendIds[slot] = context.backendId
    this.#refusals[slot] = reply.refusal
    this.#notes[slot] = context.notes
    this.#moduleTimes.put(slot, context.moduleTimes, context.begun)
    this.#replayed[slot] = context.replayOf
  }

  end(context: RequestContext, whole: boolean, now: number): void {
    const { logSlot: slot, begun } = context
    if (!this.#has(context)) return
    this.#floats[slot * (SLOT_BYTES / 4) + endedAt] = now - begun
    this.#bytes[slot * SLOT_BYTES + wholeAt] = whole ? 1 : 0
    const from = slot * (SLOT_BYTES / 8)
    this.#doubles[from + receivedAt] = bytesReceived(context)
    this.#doubles[from + sentAt] = bytesSent(context)
  }

  find(id: string): KeptRequest | undefined {
    if (id.length !== ID_BYTES || this.#size === 0) return undefined
    for (let at = 0; ; at++) {
      at = this.#bytes.indexOf(id, at, 'latin1')
      // A client may have sent the id as a path.
      if (at < 0 || at % SLOT_BYTES === 0) return at < 0 ? undefined : this.#read(at / SLOT_BYTES)
    }
  }

  /** Newest first. */
  *newest(): Generator<KeptRequest> {
    const slots = Array.from(this.#numbers.keys()).filter(slot => this.#numberIn(slot) > 0)
    for (const slot of slots.toSorted((one, other) => this.#numberIn(other) - this.#numberIn(one)))
      yield this.#read(slot)
  }

  /** The request of a trace, while it is stored. */
  of(context: RequestContext): KeptRequest | undefined {
    return this.#has(context) ? this.#read(context.logSlot) : undefined
  }

  #has({ logNumber, logSlot }: RequestContext): boolean {
    return logNumber !== 0 && this.#numberIn(logSlot) === logNumber
  }

  #numberIn(slot: number): number {
    return this.#numbers[slot] ?? 0
  }

  /**
   * The next slot whose endpoint has more than its guaranteed share: half of all slots are divided among the endpoints,
   * so that a flood at one keeps the last requests of the others. At most half of the slots are skipped per round.
   */
  #slotFor(route: RouteInfo | undefined): number {
    const sure = Math.floor(this.#size / 2 / Math.max(1, this.#known.size))
    let slot = this.#next()
    let before = this.#endpoints[slot]
    while (before !== undefined && before.slots <= sure) {
      slot = this.#next()
      before = this.#endpoints[slot]
    }
    if (before !== undefined && --before.slots === 0) this.#known.delete(before.id)
    const holder = this.#holderOf(route)
    if (holder.slots++ === 0) this.#known.set(holder.id, holder)
    this.#endpoints[slot] = holder
    return slot
  }

  /** Kept at the route: with many endpoints a look-up reads memory that no cache has. */
  #holderOf(route: RouteInfo | undefined): LoggedEndpoint {
    const last = route?.logged
    if (last instanceof LoggedEndpoint && last.slots > 0) return last
    const id = route?.id ?? ''
    const holder = this.#known.get(id) ?? new LoggedEndpoint(id)
    if (route !== undefined) route.logged = holder
    return holder
  }

  #next(): number {
    this.#at = (this.#at + 1) % this.#size
    return this.#at
  }

  #putNumbers(
    slot: number,
    { begun, upstreamStartedAt: asked, respondedAt: answered, modulesPassed: passed }: RequestContext,
    status: number,
  ): void {
    const bytes = this.#bytes
    const at = slot * SLOT_BYTES
    const floats = this.#floats
    const from = slot * (SLOT_BYTES / 4)
    const doubles = this.#doubles
    const doublesFrom = slot * (SLOT_BYTES / 8)
    doubles[doublesFrom + begunAt] = begun
    doubles[doublesFrom + receivedAt] = doubles[doublesFrom + sentAt] = Number.NaN
    floats[from + askedAt] = asked === 0 ? Number.NaN : asked - begun
    floats[from + answeredAt] = answered - begun
    floats[from + endedAt] = Number.NaN
    this.#shorts[slot * (SLOT_BYTES / 2) + statusAt] = status
    bytes[at + passedAt] = passed
    bytes[at + wholeAt] = 0
  }

  #putProtocols(at: number, { scheme, tls }: HttpClientConnection, head: RequestHead | undefined): void {
    const bytes = this.#bytes
    bytes[at + schemeAt] = scheme === 'https' ? 1 : 0
    // Values outside of a list become 255, which no list has.
    bytes[at + httpVersionAt] = httpVersions.indexOf(head?.version)
    bytes[at + tlsVersionAt] = tlsVersions.indexOf(tls?.version)
  }

  /** All texts at once: the calls are what costs, not the bytes. */
  #putTexts(at: number, id: string, ip: string, head: RequestHead | undefined): void {
    const bytes = this.#bytes
    const method = cut(head?.method ?? '', MAX_METHOD)
    const address = cut(ip, MAX_IP)
    const host = cut(head?.host ?? '', MAX_HOST)
    const path = cut(head?.path ?? '', MAX_PATH)
    bytes.write(id + method + address + host + path, at, NUMBERS_AT, 'latin1')
    bytes[at + lengthsAt] = method.length
    bytes[at + lengthsAt + 1] = address.length
    bytes[at + lengthsAt + 2] = host.length
    bytes[at + lengthsAt + 3] = path.length
  }

  #textsAt(at: number): string[] {
    const bytes = this.#bytes
    let from = at + ID_BYTES
    return [0, 1, 2, 3].map(which => {
      const length = bytes[at + lengthsAt + which] ?? 0
      from += length
      return bytes.toString('latin1', from - length, from)
    })
  }

  #read(slot: number): KeptRequest {
    const bytes = this.#bytes
    const at = slot * SLOT_BYTES
    const [method = '', ip = '', host = '', path = ''] = this.#textsAt(at)
    const float = (where: number): number => this.#floats[at / 4 + where] ?? Number.NaN
    const double = (where: number): number => this.#doubles[at / 8 + where] ?? Number.NaN
    return {
      id: bytes.toString('latin1', at, at + ID_BYTES),
      at: wallTime(double(begunAt)),
      ip,
      scheme: bytes[at + schemeAt] === 1 ? 'https' : 'http',
      httpVersion: httpVersions[bytes[at + httpVersionAt] ?? 255],
      tlsVersion: tlsVersions[bytes[at + tlsVersionAt] ?? 255],
      method,
      host,
      path,
      status: this.#shorts[at / 2 + statusAt] ?? 0,
      refusal: this.#refusals[slot],
      route: this.#routes[slot],
      passed: bytes[at + passedAt] ?? 0,
      moduleTimes: this.#moduleTimes.of(slot),
      replayOf: this.#replayed[slot],
      tlsMs: known(float(tlsMsAt)),
      dialMs: known(float(dialMsAt)),
      tunnelId: this.#tunnelIds[slot],
      backendId: this.#backendIds[slot],
      notes: this.#notes[slot] ?? [],
      asked: known(float(askedAt)),
      answered: float(answeredAt),
      ended: known(float(endedAt)),
      received: known(double(receivedAt)),
      sent: known(double(sentAt)),
      whole: bytes[at + wholeAt] === 1,
    }
  }
}

const cut = (text: string, limit: number): string => (text.length > limit ? text.slice(0, limit) : text)

const known = (value: number): number | undefined => (Number.isNaN(value) ? undefined : value)
