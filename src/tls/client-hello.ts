import { isIP } from 'node:net'

/** What a client sends unencrypted before TLS begins. */
export interface ClientHello {
  /** Lower case, without the root dot; undefined for none or an invalid host name. */
  readonly serverName: string | undefined
  /** The offered protocols, in order of preference. */
  readonly alpn: readonly string[]
  /** The key name of its session ticket. */
  readonly ticketKey?: Buffer
}

export type ClientHelloResult =
  | { readonly kind: 'hello'; readonly hello: ClientHello }
  /** Nothing can be decided before this many bytes. */
  | { readonly kind: 'more'; readonly bytes: number }
  | { readonly kind: 'not_tls' }
  /** It began like TLS and then broke the protocol. */
  | { readonly kind: 'malformed' }

const HANDSHAKE = 22
const CLIENT_HELLO = 1
const RECORD_HEADER = 5
const MAX_RECORD = 16_384
const MAX_HELLO = 32_768
/** Normal clients use one or two; without a limit tiny records would make the work quadratic. */
const MAX_RECORDS = 16
/** So many bytes always decide: hello, message header, record headers. */
export const MAX_PEEK = MAX_HELLO + 4 + MAX_RECORDS * RECORD_HEADER + MAX_RECORD

const SERVER_NAME = 0
const ALPN = 16
const SESSION_TICKET = 35
const PRE_SHARED_KEY = 41
/** A ticket begins with the name of its key (RFC 5077 §4). */
const KEY_NAME = 16
const NOT_TLS: ClientHelloResult = { kind: 'not_tls' }
const MALFORMED: ClientHelloResult = { kind: 'malformed' }

/** Parses the first bytes of a connection, however they are split into records and packets. */
export function parseClientHello(bytes: Buffer): ClientHelloResult {
  if (bytes.length > 0 && bytes[0] !== HANDSHAKE) return NOT_TLS
  if (bytes.length > 1 && bytes[1] !== 3) return NOT_TLS
  const fragments: Buffer[] = []
  let at = 0
  for (let records = 0; records < MAX_RECORDS; records++) {
    if (bytes.length < at + RECORD_HEADER) return { kind: 'more', bytes: at + RECORD_HEADER }
    const length = bytes.readUInt16BE(at + 3)
    if (bytes[at] !== HANDSHAKE || bytes[at + 1] !== 3 || length === 0 || length > MAX_RECORD)
      return MALFORMED
    const end = at + RECORD_HEADER + length
    if (bytes.length < end) return { kind: 'more', bytes: end }
    fragments.push(bytes.subarray(at + RECORD_HEADER, end))
    const glance = parseHelloMessage(fragments)
    if (glance !== undefined) return glance
    at = end
  }
  return MALFORMED
}

/** Undefined while the message continues in the next record. */
function parseHelloMessage(fragments: readonly Buffer[]): ClientHelloResult | undefined {
  const [only] = fragments
  const message = fragments.length === 1 && only ? only : Buffer.concat(fragments)
  if (message[0] !== CLIENT_HELLO) return MALFORMED
  if (message.length < 4) return undefined
  const length = message.readUIntBE(1, 3)
  if (length > MAX_HELLO) return MALFORMED
  if (message.length < 4 + length) return undefined
  const hello = readHello(new ByteReader(message.subarray(4, 4 + length)))
  return hello === undefined ? MALFORMED : { kind: 'hello', hello }
}

/** Reads fields one after another; past the end, results are empty and `broken` is set. */
export class ByteReader {
  readonly #bytes: Buffer
  #at = 0
  broken = false

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get empty(): boolean {
    return this.broken || this.#at === this.#bytes.length
  }

  number(size: 1 | 2): number {
    const at = this.#at
    if (this.broken || at + size > this.#bytes.length) {
      this.broken = true
      return 0
    }
    this.#at += size
    return size === 1 ? this.#bytes.readUInt8(at) : this.#bytes.readUInt16BE(at)
  }

  take(length: number): Buffer {
    const start = this.#at
    if (this.broken || start + length > this.#bytes.length) {
      this.broken = true
      return this.#bytes.subarray(0, 0)
    }
    this.#at += length
    return this.#bytes.subarray(start, start + length)
  }

  /** A length-prefixed field. */
  field(lengthSize: 1 | 2): Buffer {
    return this.take(this.number(lengthSize))
  }
}

function readHello(reader: ByteReader): ClientHello | undefined {
  reader.take(2 + 32)
  reader.field(1)
  reader.field(2)
  reader.field(1)
  if (reader.broken) return undefined
  if (reader.empty) return { serverName: undefined, alpn: [] }
  const extensions = new ByteReader(reader.field(2))
  if (reader.broken || !reader.empty) return undefined
  let name: { readonly text: string | undefined } | undefined
  let alpn: readonly string[] | undefined
  let ticketKey: Buffer | undefined
  while (!extensions.empty) {
    const type = extensions.number(2)
    const content = extensions.field(2)
    if (extensions.broken) return undefined
    // Parsers differ in which of two repeated extensions they use, so it is rejected.
    if ((type === SERVER_NAME && name) || (type === ALPN && alpn)) return undefined
    if (type === SERVER_NAME && (name = readServerName(content)) === undefined) return undefined
    if (type === ALPN && (alpn = readAlpn(content)) === undefined) return undefined
    if (type === SESSION_TICKET || type === PRE_SHARED_KEY) ticketKey = readTicketKey(type, content)
  }
  return { serverName: name?.text, alpn: alpn ?? [], ...(ticketKey && { ticketKey }) }
}

/** Of several tickets only the first counts. What is unreadable here is left to the TLS engine. */
function readTicketKey(type: number, content: Buffer): Buffer | undefined {
  const identity =
    type === SESSION_TICKET ? content : new ByteReader(new ByteReader(content).field(2)).field(2)
  return identity.length > KEY_NAME ? identity.subarray(0, KEY_NAME) : undefined
}

/** RFC 6066 §3 defines one type of name, and at most one of each type. */
function readServerName(content: Buffer): { readonly text: string | undefined } | undefined {
  const outer = new ByteReader(content)
  const list = new ByteReader(outer.field(2))
  const type = list.number(1)
  const name = list.field(2)
  if (outer.broken || !outer.empty || list.broken || !list.empty || type !== 0) return undefined
  return { text: hostName(name.toString('latin1')) }
}

function readAlpn(content: Buffer): readonly string[] | undefined {
  const outer = new ByteReader(content)
  const list = new ByteReader(outer.field(2))
  const names: string[] = []
  while (!list.empty) names.push(list.field(1).toString('latin1'))
  if (outer.broken || !outer.empty || list.broken || names.length === 0) return undefined
  return names
}

/** A normalized server name; undefined when it is invalid. */
export function hostName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, '')
  if (name.length > 253 || isIP(name) !== 0) return undefined
  return /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/.test(name) ? name : undefined
}
