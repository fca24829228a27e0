import type { ErrorName } from '#base/errors.ts'
import type { Reply, Visitor } from '#gateway/exchange.ts'
import type { RequestHead } from '#gateway/http/head.ts'
import type { Trace, Way } from '#gateway/trace.ts'

/** One request as it was kept. */
export interface KeptRequest {
  readonly id: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly ip: string
  readonly scheme: 'http' | 'https'
  /** Empty when the head could not be read. */
  readonly method: string
  readonly host: string
  /** Without its query, which may hold secrets; long ones are cut. */
  readonly path: string
  readonly status: number
  readonly refusal: ErrorName | undefined
  readonly way: Way | undefined
  readonly passed: number
  readonly tunnelId: string | undefined
  readonly backendId: string | undefined
  readonly notes: readonly string[]
  /** Milliseconds after the beginning; undefined for what has not come. */
  readonly asked: number | undefined
  readonly answered: number
  readonly ended: number | undefined
  /** Whether the answer left to its end. */
  readonly whole: boolean
}

const SLOT_BYTES = 512
const ID_BYTES = 30
const TEXT_AT = 64
const MAX_METHOD = 20
const MAX_IP = 45
const MAX_HOST = 120
const MAX_PATH = SLOT_BYTES - TEXT_AT - MAX_METHOD - MAX_IP - MAX_HOST - 8

/** What outlives a request anyway; only references are kept. */
interface Lasting {
  readonly refusal: ErrorName | undefined
  readonly way: Way | undefined
  readonly tunnelId: string | undefined
  readonly backendId: string | undefined
  readonly notes: readonly string[] | undefined
}

/**
 * The last requests. Their texts are copied into one block of memory: kept as objects, each request would outlive
 * its time, and the collector would have to move it.
 */
export class RequestRing {
  readonly #size: number
  readonly #bytes: Buffer
  readonly #lasting: (Lasting | undefined)[]
  /** Requests kept so far; the next one's number is one more. */
  #count = 0

  constructor(size: number) {
    this.#size = size
    this.#bytes = Buffer.alloc(size * SLOT_BYTES)
    this.#lasting = Array.from({ length: size })
  }

  put(visitor: Visitor, head: RequestHead | undefined, reply: Reply, trace: Trace): void {
    if (this.#size === 0) return
    trace.kept = ++this.#count
    const slot = this.#count % this.#size
    const bytes = this.#bytes
    const at = slot * SLOT_BYTES
    bytes.write(trace.id, at, ID_BYTES, 'latin1')
    bytes.writeDoubleLE(trace.begun, at + 32)
    bytes.writeFloatLE(trace.asked === 0 ? Number.NaN : trace.asked - trace.begun, at + 40)
    bytes.writeFloatLE(trace.answered - trace.begun, at + 44)
    bytes.writeFloatLE(Number.NaN, at + 48)
    bytes.writeUInt16LE(reply.head.status, at + 52)
    bytes[at + 54] = trace.passed
    bytes[at + 55] = visitor.scheme === 'https' ? 1 : 0
    bytes[at + 56] = 0
    let to = at + TEXT_AT
    to = this.#write(head?.method ?? '', to, MAX_METHOD)
    to = this.#write(visitor.ip, to, MAX_IP)
    to = this.#write(head?.host ?? '', to, MAX_HOST)
    this.#write(head?.path ?? '', to, MAX_PATH)
    const { way, tunnel, backendId, notes } = trace
    const before = this.#lasting[slot]
    const { refusal } = reply
    const tunnelId = tunnel?.id
    // Mostly the same as the last time round, and then nothing new is made.
    if (
      before?.way !== way ||
      before?.tunnelId !== tunnelId ||
      before?.refusal !== refusal ||
      notes ||
      before?.notes
    )
      this.#lasting[slot] = { way, tunnelId, backendId, refusal, notes }
  }

  end({ kept, begun }: Trace, whole: boolean, now: number): void {
    if (kept === 0 || this.#count - kept >= this.#size) return
    const at = (kept % this.#size) * SLOT_BYTES
    this.#bytes.writeFloatLE(now - begun, at + 48)
    this.#bytes[at + 56] = whole ? 1 : 0
  }

  find(id: string): KeptRequest | undefined {
    if (id.length !== ID_BYTES || this.#size === 0) return undefined
    for (let at = 0; ; at++) {
      at = this.#bytes.indexOf(id, at, 'latin1')
      // A visitor may have sent the id as a path.
      if (at < 0 || at % SLOT_BYTES === 0) return at < 0 ? undefined : this.#read(at / SLOT_BYTES)
    }
  }

  /** Newest first. */
  *newest(): Generator<KeptRequest> {
    const first = Math.max(1, this.#count - this.#size + 1)
    for (let number = this.#count; number >= first; number--) yield this.#read(number % this.#size)
  }

  /** The request of a trace, while it is kept. */
  of({ kept }: Trace): KeptRequest | undefined {
    return kept === 0 || this.#count - kept >= this.#size ? undefined : this.#read(kept % this.#size)
  }

  #write(text: string, to: number, limit: number): number {
    const written = this.#bytes.write(text, to + 2, limit, 'latin1')
    this.#bytes.writeUInt16LE(written, to)
    return to + 2 + written
  }

  #read(slot: number): KeptRequest {
    const bytes = this.#bytes
    const at = slot * SLOT_BYTES
    const texts: string[] = []
    for (let from = at + TEXT_AT; texts.length < 4;) {
      const length = bytes.readUInt16LE(from)
      texts.push(bytes.toString('latin1', from + 2, from + 2 + length))
      from += 2 + length
    }
    const [method = '', ip = '', host = '', path = ''] = texts
    const lasting = this.#lasting[slot]
    return {
      id: bytes.toString('latin1', at, at + ID_BYTES),
      at: performance.timeOrigin + bytes.readDoubleLE(at + 32),
      ip,
      scheme: bytes[at + 55] === 1 ? 'https' : 'http',
      method,
      host,
      path,
      status: bytes.readUInt16LE(at + 52),
      refusal: lasting?.refusal,
      way: lasting?.way,
      passed: bytes[at + 54] ?? 0,
      tunnelId: lasting?.tunnelId,
      backendId: lasting?.backendId,
      notes: lasting?.notes ?? [],
      asked: known(bytes.readFloatLE(at + 40)),
      answered: bytes.readFloatLE(at + 44),
      ended: known(bytes.readFloatLE(at + 48)),
      whole: bytes[at + 56] === 1,
    }
  }
}

const known = (value: number): number | undefined => (Number.isNaN(value) ? undefined : value)
