import { nameCharacters, tokenCharacters, valueCharacters } from '#http/http1-characters.ts'
import { isAnswerName, isOwnName } from '#http/identity-names.ts'
import { siteNames } from '#http/site-names.ts'

const MAX_SIZE_DIGITS = 16
const MAX_EXTENSION_BYTES = 16_384
const MAX_TRAILER_BYTES = 8192
const CR = 0x0d
const LF = 0x0a
const SEMICOLON = 0x3b

/** They define where a message ends, where it goes or who sent it, which is decided before the body. */
const forbidden = new Set([
  ...siteNames,
  ...(
    'content-length transfer-encoding host connection keep-alive te trailer upgrade expect authorization ' +
    'proxy-authorization cookie content-type content-encoding content-range'
  ).split(' '),
])

/** Allowed trailer names. */
export interface TrailerRules {
  readonly nameCharacters: Uint8Array
  readonly isReserved: (name: string) => boolean
}

/** Trailers obey the same rules as the head. */
export const requestTrailers: TrailerRules = { nameCharacters, isReserved: isOwnName }
export const responseTrailers: TrailerRules = { nameCharacters: tokenCharacters, isReserved: isAnswerName }

const AT = { size: 0, extension: 1, sizeEnd: 2, content: 3, contentCr: 4, contentLf: 5, trailers: 6 } as const

/** Finds the end of a chunked body and its content, without copying either. */
export class ChunkScanner {
  /** Lines as in a head, once the end was found. */
  trailers = ''
  fault: string | undefined
  /** Body bytes so far. */
  content = 0
  readonly #rules: TrailerRules
  #at: (typeof AT)[keyof typeof AT] = AT.size
  #left = 0
  #digits = 0
  #extensions = 0

  constructor(rules: TrailerRules) {
    this.#rules = rules
  }

  /**
   * Parses the next bytes; `content` receives every piece of content. Returns where the bytes after the body begin, or
   * undefined when its end has not arrived, or on a `fault`.
   */
  scan(bytes: Buffer, content?: (from: number, to: number) => void): number | undefined {
    let at = 0
    while (at < bytes.length) {
      if (this.#at === AT.trailers) return this.#scanTrailers(bytes, at)
      if (this.#at === AT.content) {
        const end = Math.min(bytes.length, at + this.#left)
        content?.(at, end)
        this.content += end - at
        this.#left -= end - at
        at = end
        if (this.#left === 0) this.#at = AT.contentCr
        continue
      }
      this.#step(bytes[at++] ?? 0)
      if (this.fault !== undefined) return undefined
    }
    return undefined
  }

  #step(code: number): void {
    switch (this.#at) {
      case AT.size:
        this.#stepSize(code)
        break
      case AT.extension:
        if (code === CR) this.#at = AT.sizeEnd
        else if (code < 0x20 ? code !== 0x09 : code > 0x7e) this.fault = 'a chunk has a malformed extension'
        else if (++this.#extensions > MAX_EXTENSION_BYTES) this.fault = 'its chunks have too many extensions'
        break
      case AT.sizeEnd:
        if (code !== LF) this.fault = 'the size of a chunk does not end in CRLF'
        this.#at = this.#left === 0 ? AT.trailers : AT.content
        break
      case AT.contentCr:
        if (code !== CR) this.fault = 'a chunk is longer than its size'
        this.#at = AT.contentLf
        break
      default:
        if (code !== LF) this.fault = 'a chunk does not end in CRLF'
        this.#at = AT.size
        this.#digits = 0
    }
  }

  #stepSize(code: number): void {
    const digit = hexDigit(code)
    if (digit >= 0) {
      this.#left = this.#left * 16 + digit
      if (++this.#digits > MAX_SIZE_DIGITS || this.#left > Number.MAX_SAFE_INTEGER)
        this.fault = 'a chunk is too large'
      return
    }
    if (this.#digits === 0 || (code !== CR && code !== SEMICOLON))
      this.fault = 'the size of a chunk is malformed'
    this.#at = code === CR ? AT.sizeEnd : AT.extension
  }

  /** Trailers are collected, because they are checked by name; nearly always there are none. */
  #scanTrailers(bytes: Buffer, at: number): number | undefined {
    const before = this.trailers.length
    if (before === 0 && bytes[at] === CR && bytes[at + 1] === LF) return at + 2
    this.trailers += bytes.toString('latin1', at, Math.min(bytes.length, at + MAX_TRAILER_BYTES + 3 - before))
    const none = this.trailers.startsWith('\r\n')
    const end = none ? 0 : this.trailers.indexOf('\r\n\r\n', Math.max(0, before - 3)) + 2
    if (!none && end < 2) {
      if (this.trailers.length > MAX_TRAILER_BYTES) this.fault = 'its trailers are too large'
      else if (/(?:^|[^\r])\n/.test(this.trailers)) this.fault = 'a trailer ends without a carriage return'
      return undefined
    }
    this.trailers = this.trailers.slice(0, end)
    this.fault = trailerFault(this.trailers, this.#rules)
    return this.fault === undefined ? at + end + 2 - before : undefined
  }
}

function hexDigit(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

function trailerFault(
  text: string,
  { nameCharacters: allowed, isReserved }: TrailerRules,
): string | undefined {
  if (text.length > MAX_TRAILER_BYTES) return 'its trailers are too large'
  for (let at = 0; at < text.length; at += 2) {
    const start = at
    while (allowed[text.charCodeAt(at)] === 1) at++
    if (text[at] === '_') return 'the name of a trailer has an underscore'
    if (at === start || text[at] !== ':') return 'a trailer is not a header field'
    const name = text.slice(start, at++).toLowerCase()
    if (forbidden.has(name.replaceAll('_', '-')) || isReserved(name)) return `"${name}" cannot be a trailer`
    while (valueCharacters[text.charCodeAt(at)] === 1) at++
    if (!text.startsWith('\r\n', at)) return 'a trailer has a character that is not allowed in values'
  }
  return undefined
}
