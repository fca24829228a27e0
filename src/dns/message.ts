/**
 * The wire format of queries, parsed by hand: the package dns-packet is old, parses every record and every pointer
 * chain, and checks no length before it reads. A public UDP port receives anything from anyone, and a query has so few
 * parts that everything else can be rejected.
 */

export const HEADER_BYTES = 12
const MAX_NAME = 255
const MAX_LABEL = 63
/** EDNS and a signature; a query has no more after its question. */
const MAX_ADDITIONAL = 2

export const QR = 0x8000
export const AA = 0x0400
export const TC = 0x0200
const OPCODE = 0x7800
// Recursion desired and checking disabled: echoed in the response.
const REPEATED = 0x0110

export const types = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  HINFO: 13,
  TXT: 16,
  AAAA: 28,
  OPT: 41,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
  CAA: 257,
} as const

export const IN = 1

export const rcodes = { noError: 0, formErr: 1, nxDomain: 3, notImp: 4, refused: 5, badVers: 16 } as const
export type Rcode = (typeof rcodes)[keyof typeof rcodes]

export const COOKIE = 10
export const CLIENT_COOKIE_BYTES = 8

interface Edns {
  readonly version: number
  /** Maximum size of a UDP response. */
  readonly payload: number
  readonly dnssecOk: boolean
  /** RFC 7873: the client's half, then ours, if it had one. */
  readonly cookie: Buffer | undefined
}

export interface Query {
  readonly id: number
  /** Flags that the response repeats. */
  readonly flags: number
  /** As sent: resolvers vary the case of letters, and check it in the response. */
  readonly question: Buffer
  /** In lower case and without the root dot. A dot within a label is written as U+0100, which no byte can be. */
  readonly name: string
  readonly type: number
  readonly class: number
  readonly edns: Edns | undefined
}

export type Reading =
  | { readonly is: 'query'; readonly query: Query }
  /** Only its header can be used. */
  | { readonly is: 'fault'; readonly id: number; readonly flags: number; readonly rcode: Rcode }
  /** Must not get a response. */
  | { readonly is: 'noise' }

const NOISE: Reading = { is: 'noise' }

export function readQuery(bytes: Buffer): Reading {
  if (bytes.length < HEADER_BYTES) return NOISE
  const flags = bytes.readUInt16BE(2)
  // Responding to responses could keep two servers in a loop forever.
  if ((flags & QR) !== 0) return NOISE
  const id = bytes.readUInt16BE(0)
  const fault = (rcode: Rcode): Reading => ({
    is: 'fault',
    id,
    flags: flags & (OPCODE | REPEATED),
    rcode,
  })
  if ((flags & OPCODE) !== 0) return fault(rcodes.notImp)
  const isQuery = bytes.readUInt16BE(4) === 1 && bytes.readUInt32BE(6) === 0
  const name = isQuery ? readName(bytes, HEADER_BYTES) : undefined
  if (name === undefined || name.end + 4 > bytes.length) return fault(rcodes.formErr)
  const end = name.end + 4
  const additional = readAdditional(bytes, end)
  if (additional === undefined) return fault(rcodes.formErr)
  const query: Query = {
    id,
    flags: flags & REPEATED,
    question: bytes.subarray(HEADER_BYTES, end),
    name: name.text,
    type: bytes.readUInt16BE(name.end),
    class: bytes.readUInt16BE(name.end + 2),
    edns: additional.edns,
  }
  return { is: 'query', query }
}

/** A name without pointers: in a question there is nothing to point at. */
function readName(bytes: Buffer, start: number): { readonly text: string; readonly end: number } | undefined {
  let text = ''
  let at = start
  for (;;) {
    const length = bytes[at]
    if (length === undefined || length > MAX_LABEL) return undefined
    const next = at + 1 + length
    if (next > bytes.length || next - start > MAX_NAME) return undefined
    if (length === 0) return { text: text.toLowerCase(), end: next }
    const label = bytes.toString('latin1', at + 1, next).replaceAll('.', '\u0100')
    text = text === '' ? label : `${text}.${label}`
    at = next
  }
}

/** The end of a skipped name; a pointer ends it, and is not followed. */
function skipName(bytes: Buffer, start: number): number | undefined {
  for (let at = start; at - start <= MAX_NAME;) {
    const length = bytes[at]
    if (length === undefined) return undefined
    if (length === 0) return at + 1
    if (length >= 0xc0) return at + 2
    if (length > MAX_LABEL) return undefined
    at += 1 + length
  }
  return undefined
}

function readAdditional(bytes: Buffer, start: number): { readonly edns: Edns | undefined } | undefined {
  const count = bytes.readUInt16BE(10)
  if (count > MAX_ADDITIONAL) return undefined
  let edns: Edns | undefined
  let at = start
  for (let index = 0; index < count; index++) {
    const named = skipName(bytes, at)
    if (named === undefined || named + 10 > bytes.length) return undefined
    const end = named + 10 + bytes.readUInt16BE(named + 8)
    if (end > bytes.length) return undefined
    if (bytes.readUInt16BE(named) === types.OPT) {
      // RFC 6891 §6.1.1: there is one, and its name is the root.
      if (edns !== undefined || named !== at + 1) return undefined
      edns = readEdns(bytes, named, end)
      if (edns === undefined) return undefined
    }
    at = end
  }
  return at === bytes.length ? { edns } : undefined
}

/** `at` is after the name of the record. */
function readEdns(bytes: Buffer, at: number, end: number): Edns | undefined {
  const version = bytes.readUInt8(at + 5)
  const options = version === 0 ? readCookie(bytes, at + 10, end) : {}
  return (
    options && {
      version,
      payload: bytes.readUInt16BE(at + 2),
      dnssecOk: (bytes.readUInt8(at + 6) & 0x80) !== 0,
      cookie: options.cookie,
    }
  )
}

function readCookie(bytes: Buffer, start: number, end: number): { readonly cookie?: Buffer } | undefined {
  let cookie: Buffer | undefined
  for (let at = start; at < end;) {
    if (at + 4 > end) return undefined
    const length = bytes.readUInt16BE(at + 2)
    const next = at + 4 + length
    if (next > end) return undefined
    if (bytes.readUInt16BE(at) === COOKIE) {
      // RFC 7873 §5.2.2: a cookie of another length is a malformed query.
      if (length !== CLIENT_COOKIE_BYTES && (length < 16 || length > 40)) return undefined
      cookie ??= bytes.subarray(at + 4, next)
    }
    at = next
  }
  return cookie === undefined ? {} : { cookie }
}
