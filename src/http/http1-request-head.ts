import { withProxyField } from '#base/trusted-proxies.ts'
import type { Framing } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import type { RequestHead } from '#http/head.ts'
import { nameCharacters, tokenCharacters } from '#http/http1-characters.ts'
import {
  type FieldLines,
  type FieldRules,
  listed,
  readFieldLines,
  takeCommon,
  watched,
} from '#http/http1-field-lines.ts'
import {
  earlyFault,
  MAX_REQUEST_LINE,
  type ParsedRequestLine,
  requestLine,
} from '#http/http1-request-line.ts'
import { hostOf, MAX_TARGET, readTarget } from '#http/http1-target.ts'
import { isOwnName, ownFamilies, ownNames } from '#http/identity-names.ts'
import { malformed, HttpError } from '#http/http-error.ts'

export const MAX_REQUEST_HEAD = 32_768
export const MAX_REQUEST_FIELDS = 100

export interface HeadLimits {
  /** Bytes of a request head. */
  readonly headBytes: number
  /** Bytes of a request line that are read before it is rejected; a target that is too long is rejected in any case. */
  readonly lineBytes: number
}

export const defaultHeadLimits: HeadLimits = { headBytes: MAX_REQUEST_HEAD, lineBytes: MAX_REQUEST_LINE }

const codings = new Set(['gzip', 'x-gzip', 'deflate', 'compress', 'x-compress', 'br', 'zstd'])
/**
 * End-to-end fields, which Connection must not name (RFC 9110 §7.6.1). Forwarding them would ignore the message's own
 * statement, removing them would change the message.
 */
const endToEnd = new Set(
  'content-length transfer-encoding host authorization cookie content-type content-encoding content-range expect'.split(
    ' ',
  ),
)
const ofConnection = new Set(['keep-alive', 'close', 'te'])
const noContent: Framing = { kind: 'none' }
const chunked: Framing = { kind: 'chunked' }

const looksFor =
  'host content-length transfer-encoding connection keep-alive proxy-connection te upgrade http2-settings expect'.split(
    ' ',
  )
const forwardedRules: FieldRules = {
  maxFields: MAX_REQUEST_FIELDS,
  nameCharacters,
  watched: watched([...looksFor, ...ownNames], ownFamilies),
  take: (lines, name, value) => take(lines, name, value) || isOwnName(name),
}
/** For requests that end here: no service could confuse their names, or trust those that only the gateway may set. */
const finalRules: FieldRules = {
  maxFields: MAX_REQUEST_FIELDS,
  nameCharacters: tokenCharacters,
  watched: watched([...looksFor, 'x-forwarded-for', 'forwarded']),
  take,
}

function take(lines: FieldLines, name: string, value: string): boolean {
  switch (name) {
    case 'host':
      if (lines.host !== undefined) lines.fault ??= 'there is more than one Host'
      lines.host = value
      return true
    case 'upgrade':
      lines.upgrade = lines.upgrade === '' ? value.toLowerCase() : `${lines.upgrade},${value.toLowerCase()}`
      return true
    case 'expect':
      lines.expect = lines.expect === undefined ? value.toLowerCase() : `${lines.expect},${value}`
      return false
    case 'x-forwarded-for':
    case 'forwarded':
      lines.proxyFields = withProxyField(lines.proxyFields, name, value)
      return true
    case 'te':
      return value.toLowerCase() !== 'trailers'
    case 'http2-settings':
      return true
    default:
      return takeCommon(lines, name, value)
  }
}

/**
 * Finds the end of a head. Returns where its last line ends, or undefined while more is needed; an invalid head is
 * rejected at the first byte that shows it, however the bytes were split.
 */
export function findRequestEnd(
  text: string,
  { headBytes, lineBytes } = defaultHeadLimits,
): number | undefined | HttpError {
  const end = text.indexOf('\r\n\r\n')
  // Within the limit of a request line none of the other limits can be exceeded.
  if (end >= 0 && end + 4 <= MAX_REQUEST_LINE) return end + 2
  // After how many bytes each result is known: the first one counts.
  const complete = end < 0 || end + 4 > headBytes ? Infinity : end + 4
  const line = text.indexOf('\r\n', text.startsWith('\r\n') ? 2 : 0)
  const tooLong = line < 0 || line > lineBytes + 2 ? lineBytes + 5 : Infinity
  const fault = earlyFault(text)
  const first = Math.min(complete, tooLong, fault?.after ?? Infinity, headBytes + 1)
  if (first > text.length) return undefined
  if (first === complete) return end + 2
  if (first === fault?.after) return fault.error
  return first === tooLong
    ? new HttpError('target_too_long', { limit: MAX_TARGET })
    : new HttpError('head_too_large', { reason: `at most ${headBytes} bytes` })
}

/**
 * Parses a head up to `to`, from its bytes and the same as Latin-1: the request line and the lines of its fields, each
 * with its CRLF, without the empty line. `isForwarded`: a service will interpret the request.
 */
export function parseRequestHead(
  bytes: Uint8Array,
  text: string,
  to = text.length,
  isForwarded = true,
): RequestHead | HttpError {
  const head = parse(bytes, text, to, isForwarded)
  // What is rejected before the rest arrives must be the reason also when all came at once.
  return head instanceof HttpError ? (earlyFault(text.slice(0, to))?.error ?? head) : head
}

function parse(bytes: Uint8Array, text: string, to: number, isForwarded: boolean): RequestHead | HttpError {
  // One empty line in front is tolerated, as old programs send one after a body.
  const start = text.startsWith('\r\n') ? 2 : 0
  const end = text.indexOf('\r\n', start)
  const line = requestLine(text, start, end)
  if (line instanceof HttpError) return line
  const lines = readFieldLines(bytes, text, end + 2, to, isForwarded ? forwardedRules : finalRules)
  if (lines.tooMany)
    return new HttpError('head_too_large', { reason: `at most ${MAX_REQUEST_FIELDS} fields` })
  if (lines.fault !== undefined) return malformed(lines.fault)
  const head = compose(line, lines, isForwarded)
  const { proxyFields } = lines
  return proxyFields === undefined || head instanceof HttpError ? head : { ...head, proxyFields }
}

/**
 * A client mostly repeats the fields of its last request: then only the first line is parsed. A proxy does so for
 * several hosts: then Host is, too.
 */
export class RepeatedFields {
  #head: RequestHead | undefined
  /** All of its text after the first line. */
  #rest = ''
  /** The same after a first field Host; undefined if that is another one. */
  #afterHost: string | undefined
  readonly #isForwarded: boolean

  constructor(isForwarded = true) {
    this.#isForwarded = isForwarded
  }

  /** Remembers a head, of which `text` is all. */
  keep(text: string, head: RequestHead): void {
    const end = text.indexOf('\r\n')
    // After an empty line in front, the rest would begin with the request line.
    this.#head = end > 0 ? head : undefined
    this.#rest = text.slice(end + 2)
    this.#afterHost = text.startsWith(HOST, end + 2) ? afterLine(text, end + 2) : undefined
  }

  /** The head that is all of a text; undefined if it has other fields than the last one, or is not valid. */
  read(text: string): RequestHead | undefined {
    const last = this.#head
    const end = text.indexOf('\r\n')
    // `endsWith` compares one character at a time, which takes longer than to parse them.
    const isSame = last !== undefined && text.slice(end + 2) === this.#rest
    const authority = isSame ? last.authority : this.#authorityOf(text, end + 2)
    if (last === undefined || authority === undefined) return undefined
    const host = isSame ? last.host : hostOf(authority)
    if (host === undefined) return undefined
    const line = requestLine(text, 0, end)
    if (line instanceof HttpError || line.version !== last.version) return undefined
    const destination = readTarget(line.target, line.method, authority, this.#isForwarded)
    if (destination instanceof HttpError) return undefined
    const { target, path } = destination
    return { ...last, method: line.method, target, path, host, authority }
  }

  /** What Host names, if it is the first field and all others are repeated. */
  #authorityOf(text: string, from: number): string | undefined {
    if (this.#afterHost === undefined || !text.startsWith(HOST, from)) return undefined
    if (afterLine(text, from) !== this.#afterHost) return undefined
    return text.slice(from + HOST.length, text.indexOf('\r\n', from))
  }
}

const HOST = 'Host: '

const afterLine = (text: string, from: number): string => text.slice(text.indexOf('\r\n', from))

function compose(
  { method, target: written, version }: ParsedRequestLine,
  lines: FieldLines,
  isForwarded: boolean,
): RequestHead | HttpError {
  // Health checks of load balancers are often HTTP/1.0 without Host. Without one there is nowhere to forward to.
  const isHostless = lines.host === undefined && version === '1.0' && !isForwarded
  const authority = isHostless ? '' : lines.host
  const host = authority === undefined ? undefined : isHostless ? '' : hostOf(authority)
  if (authority === undefined || host === undefined) return malformed('it does not have one valid Host')
  const destination = readTarget(written, method, authority, isForwarded)
  if (destination instanceof HttpError) return destination
  const content = framingOf(lines, version)
  if (content instanceof HttpError) return content
  if (lines.expect !== undefined && lines.expect !== '100-continue')
    return new HttpError('expectation_failed')
  const named = listed(lines.connection)
  const fields = keptFields(lines.text, named)
  if (fields === undefined) return malformed('Connection names a field it must not')
  const { target, path } = destination
  const current = version === '1.1'
  return {
    method,
    target,
    path,
    host,
    authority,
    version,
    keepAlive: current ? !named.includes('close') : named.includes('keep-alive') && !named.includes('close'),
    upgrade: current && lines.upgrade !== '' ? upgradeOf(lines.upgrade, named, content) : '',
    expectsContinue: current && lines.expect !== undefined,
    framing: content,
    fields: current || lines.expect === undefined ? fields : fields.without('expect'),
  }
}

function framingOf(lines: FieldLines, version: '1.0' | '1.1'): Framing | HttpError {
  const { coding, length } = lines
  if (coding === undefined) return length === undefined ? noContent : { kind: 'length', length }
  if (length !== undefined) return malformed('it has both Content-Length and Transfer-Encoding')
  if (version === '1.0') return malformed('HTTP/1.0 has no Transfer-Encoding')
  if (coding === 'chunked') return chunked
  const members = listed(coding)
  const others = members.at(-1) === 'chunked' ? members.slice(0, -1) : members
  return others.length > 0 && others.every(member => codings.has(member))
    ? new HttpError('coding_unsupported')
    : malformed('its Transfer-Encoding is not "chunked"')
}

/** The fields without those that Connection names; undefined when it names an end-to-end field. */
function keptFields(text: string, named: readonly string[]): Fields | undefined {
  let fields = new Fields(text)
  for (const name of named) {
    if (endToEnd.has(name) || isOwnName(name)) return undefined
    if (!ofConnection.has(name)) fields = fields.without(name)
  }
  return fields
}

/** An upgrade with a body is ignored: the start of the other protocol would be ambiguous. */
function upgradeOf(upgrade: string, named: readonly string[], content: Framing): string {
  const empty = content.kind === 'none' || (content.kind === 'length' && content.length === 0)
  if (!empty || !named.includes('upgrade')) return ''
  return listed(upgrade)
    .filter(member => member !== 'h2c')
    .join(', ')
}
