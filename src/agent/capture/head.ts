/** How long the body of a message is: bytes, chunks, all up to the end of the connection, or another protocol. */
export type BodyLength = number | 'chunked' | 'close' | 'upgrade'

const CHUNKED = /^transfer-encoding:[^\r]*\bchunked\b/i
const STATUS_LINE = Buffer.from('HTTP/1.')
const STATUS_AT = 'HTTP/1.1 '.length
const LENGTH = Buffer.from('content-length:')
const MAX_DIGITS = 15
const [CARRIAGE_RETURN, LINE_FEED, SPACE, TAB] = [0x0d, 0x0a, 0x20, 0x09]
const [ZERO, NINE] = [0x30, 0x39]
const [C, T] = [0x63, 0x74]

/** What matters of the head of a response. */
export interface ResponseStart {
  /** Where its body begins. */
  readonly end: number
  /** 0 if it has no status line of HTTP/1. */
  readonly status: number
  /** What the fields say about the body; undefined: nothing. */
  readonly body: number | 'chunked' | undefined
}

/**
 * Finds the head of a response between two places; undefined if it is not complete. Every captured response passes here,
 * so its bytes are read once, and most never become a text.
 */
export function readResponseStart(bytes: Buffer, from: number, to: number): ResponseStart | undefined {
  let length: number | undefined
  let isChunked = false
  let line = from
  // Every second byte: each line ends with two.
  for (let at = from + 1; at < to; at += 2) {
    const code = bytes[at] ?? 0
    if (code > CARRIAGE_RETURN) continue
    const end = code === LINE_FEED ? at - 1 : at
    if (!endsAt(bytes, end)) continue
    const first = lower(bytes[line] ?? 0)
    if (first === C) length ??= lengthAt(bytes, line, end)
    else if (first === T) isChunked ||= CHUNKED.test(bytes.toString('latin1', line, end))
    line = end + 2
    if (endsAt(bytes, line) && line + 2 <= to)
      return { end: line + 2, status: statusAt(bytes, from), body: isChunked ? 'chunked' : length }
    at = line - 1
  }
  return undefined
}

const endsAt = (bytes: Buffer, at: number): boolean =>
  bytes[at] === CARRIAGE_RETURN && bytes[at + 1] === LINE_FEED

// oxlint-disable-next-line no-bitwise
const lower = (code: number): number => (code >= 0x41 && code <= 0x5a ? code | 0x20 : code)

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE

function statusAt(bytes: Buffer, from: number): number {
  for (let at = 0; at < STATUS_LINE.length; at++) if (bytes[from + at] !== STATUS_LINE[at]) return 0
  const minor = bytes[from + STATUS_LINE.length]
  if ((minor !== ZERO && minor !== ZERO + 1) || bytes[from + STATUS_LINE.length + 1] !== SPACE) return 0
  let status = 0
  for (let at = from + STATUS_AT; at < from + STATUS_AT + 3; at++) {
    const code = bytes[at] ?? 0
    if (!isDigit(code)) return 0
    status = status * 10 + code - ZERO
  }
  return status
}

/** The value of the line if it is a valid Content-Length. */
function lengthAt(bytes: Buffer, line: number, end: number): number | undefined {
  for (let at = 0; at < LENGTH.length; at++) if (lower(bytes[line + at] ?? 0) !== LENGTH[at]) return undefined
  let at = skipBlanks(bytes, line + LENGTH.length)
  const first = at
  let length = 0
  for (let code = bytes[at] ?? 0; isDigit(code); code = bytes[at] ?? 0) {
    length = length * 10 + code - ZERO
    at++
  }
  const isValid = at > first && at - first <= MAX_DIGITS && skipBlanks(bytes, at) === end
  return isValid ? length : undefined
}

function skipBlanks(bytes: Buffer, at: number): number {
  while (bytes[at] === SPACE || bytes[at] === TAB) at++
  return at
}

/** Body length of a response, by RFC 9112 section 6.3; `isToHead`: its request has the method HEAD. */
export function responseBody({ status, body }: ResponseStart, isToHead: boolean): BodyLength {
  if (status === 101) return 'upgrade'
  if (status < 200 || status === 204 || status === 304 || isToHead) return 0
  return body ?? 'close'
}
