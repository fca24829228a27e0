import {
  AA,
  COOKIE,
  HEADER_BYTES,
  IN,
  QR,
  TC,
  types,
  type Query,
  type Rcode,
  type Reading,
} from '#dns/message.ts'
import type { Placed } from '#dns/zone.ts'

/** Passes every network without fragmentation; also our advertised size. */
export const UDP_PAYLOAD = 1232
export const MAX_MESSAGE = 65_535
const OPT_BYTES = 11
/** A pointer has 14 bits for its offset. */
const MAX_POINTER = 0x3fff

interface DnsReply {
  readonly rcode: Rcode
  readonly authoritative: boolean
  readonly answers: readonly Placed[]
  readonly authority: readonly Placed[]
  /** Both halves of it, in a reply to a client that sent one. */
  readonly cookie?: Buffer | undefined
}

/** Only the header, for unparsable queries. */
export function writeFault({ id, flags, rcode }: Extract<Reading, { is: 'fault' }>): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES)
  bytes.writeUInt16BE(id, 0)
  bytes.writeUInt16BE(QR | flags | rcode, 2)
  return bytes
}

/** At most `limit` bytes: what does not fit is omitted as a whole, with the TC flag. */
export function writeReply(query: Query, reply: DnsReply, limit: number): Buffer {
  return new Writer(query, reply, limit).finish() ?? writeTruncated(query, reply)
}

/** A response without records, after which the client retries over TCP. */
export function writeTruncated(query: Query, reply: DnsReply): Buffer {
  const empty = { ...reply, answers: [], authority: [] }
  const bytes = new Writer(query, empty, MAX_MESSAGE).finish() ?? Buffer.alloc(HEADER_BYTES)
  bytes.writeUInt16BE(bytes.readUInt16BE(2) | TC, 2)
  return bytes
}

// One for all responses: each is finished before the next is begun.
const scratch = Buffer.alloc(MAX_MESSAGE)

class Writer {
  readonly #query: Query
  readonly #reply: DnsReply
  readonly #names = new Map<string, number>()
  readonly #end: number
  #at = HEADER_BYTES
  #fits = true

  constructor(query: Query, reply: DnsReply, limit: number) {
    this.#query = query
    this.#reply = reply
    const cookie = reply.cookie === undefined ? 0 : 4 + reply.cookie.length
    this.#end = limit - (query.edns ? OPT_BYTES + cookie : 0)
  }

  /** Undefined when it does not fit. */
  finish(): Buffer | undefined {
    const { id, flags, question, name, edns } = this.#query
    const { rcode, authoritative, answers, authority } = this.#reply
    this.#raw(question)
    this.#remember(name, HEADER_BYTES)
    const counts = [answers, authority].map(section => this.#section(section))
    if (!this.#fits) return undefined
    if (edns) this.#opt(rcode, edns.dnssecOk)
    scratch.writeUInt16BE(id, 0)
    scratch.writeUInt16BE(QR | (authoritative ? AA : 0) | flags | (rcode & 0xf), 2)
    for (const [index, count] of [1, ...counts, edns ? 1 : 0].entries())
      scratch.writeUInt16BE(count, 4 + 2 * index)
    return Buffer.from(scratch.subarray(0, this.#at))
  }

  #section(section: readonly Placed[]): number {
    let count = 0
    for (const { owner, set } of section) {
      for (const parts of set.data) {
        this.#record(owner, set.type, set.ttl, parts)
        count++
      }
    }
    return count
  }

  #record(owner: string, type: number, ttl: number, parts: readonly (string | Buffer)[]): void {
    this.#name(owner)
    if (!this.#has(10)) return
    const head = this.#at
    scratch.writeUInt16BE(type, head)
    scratch.writeUInt16BE(IN, head + 2)
    scratch.writeUInt32BE(ttl, head + 4)
    this.#at += 10
    for (const part of parts) {
      if (typeof part === 'string') this.#name(part)
      else this.#raw(part)
    }
    scratch.writeUInt16BE(this.#at - head - 10, head + 8)
  }

  #opt(rcode: number, dnssecOk: boolean): void {
    const { cookie } = this.#reply
    const at = this.#at
    scratch.writeUInt8(0, at)
    scratch.writeUInt16BE(types.OPT, at + 1)
    scratch.writeUInt16BE(UDP_PAYLOAD, at + 3)
    scratch.writeUInt8(rcode >> 4, at + 5)
    scratch.writeUInt8(0, at + 6)
    scratch.writeUInt16BE(dnssecOk ? 0x8000 : 0, at + 7)
    scratch.writeUInt16BE(cookie ? 4 + cookie.length : 0, at + 9)
    this.#at += OPT_BYTES
    if (cookie === undefined) return
    scratch.writeUInt16BE(COOKIE, this.#at)
    scratch.writeUInt16BE(cookie.length, this.#at + 2)
    this.#at += 4 + cookie.copy(scratch, this.#at + 4)
  }

  /** Compressed: the rest of it may have been written before. */
  #name(name: string): void {
    for (let rest = name; rest !== '';) {
      const known = this.#names.get(rest)
      if (known !== undefined) return this.#pointer(known)
      if (this.#at <= MAX_POINTER) this.#names.set(rest, this.#at)
      const dot = rest.indexOf('.')
      const label = dot < 0 ? rest : rest.slice(0, dot)
      if (!this.#has(1 + label.length)) return
      scratch.writeUInt8(label.length, this.#at)
      scratch.write(label, this.#at + 1, 'latin1')
      this.#at += 1 + label.length
      rest = dot < 0 ? '' : rest.slice(dot + 1)
    }
    if (!this.#has(1)) return
    scratch.writeUInt8(0, this.#at++)
  }

  #pointer(to: number): void {
    if (!this.#has(2)) return
    scratch.writeUInt16BE(0xc000 | to, this.#at)
    this.#at += 2
  }

  #remember(name: string, start: number): void {
    for (let rest = name, at = start; rest !== '';) {
      this.#names.set(rest, at)
      const dot = rest.indexOf('.')
      if (dot < 0) return
      rest = rest.slice(dot + 1)
      at += dot + 1
    }
  }

  #raw(bytes: Buffer): void {
    if (!this.#has(bytes.length)) return
    bytes.copy(scratch, this.#at)
    this.#at += bytes.length
  }

  #has(bytes: number): boolean {
    this.#fits &&= this.#at + bytes <= this.#end
    return this.#fits
  }
}
