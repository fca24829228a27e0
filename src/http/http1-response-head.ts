import type { Framing } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import type { ResponseHead } from '#http/head.ts'
import { allIn, tokenCharacters, valueCharacters } from '#http/http1-characters.ts'
import {
  type FieldLines,
  type FieldRules,
  listed,
  readFieldLines,
  takeCommon,
  watched,
} from '#http/http1-field-lines.ts'
import { answerFamilies, isAnswerName } from '#http/identity-names.ts'

export const MAX_RESPONSE_HEAD = 65_536
const MAX_RESPONSE_FIELDS = 256
/** Longer heads, and those before longer bodies, are parsed each time. */
const MAX_KEPT = 2048
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: ([^\r\n]*))?$/

const noContent: Framing = { kind: 'none' }
const chunked: Framing = { kind: 'chunked' }
const untilClose: Framing = { kind: 'until_close' }

/** A response head as received from the service. */
export interface UpstreamHead extends ResponseHead {
  /** Whether its connection may be reused. */
  readonly keepAlive: boolean
}

const looksFor = 'content-length transfer-encoding connection keep-alive proxy-connection te upgrade'.split(
  ' ',
)
const rules: FieldRules = {
  maxFields: MAX_RESPONSE_FIELDS,
  nameCharacters: tokenCharacters,
  watched: watched(looksFor, answerFamilies),
  take,
}
/** Connection may name these, but they are end-to-end, and stay. */
const endToEnd = new Set(['set-cookie', 'content-type', 'content-encoding', 'cache-control', 'location'])
const ofConnection = new Set(['close', 'keep-alive', 'upgrade', 'te'])

function take(lines: FieldLines, name: string, value: string): boolean {
  switch (name) {
    case 'upgrade':
      lines.upgrade = value
      return true
    case 'te':
      return true
    default:
      return takeCommon(lines, name, value) || isAnswerName(name)
  }
}

/** Reads the heads of one service, which mostly repeats its last one: that is parsed once. */
export class ResponseHeads {
  #text = ''
  #head: UpstreamHead | undefined

  /** As `parseResponseHead`. */
  read(bytes: Uint8Array, text: string, to: number, method: string): UpstreamHead | string {
    // A response to HEAD has another meaning.
    if (method === 'HEAD') return parseResponseHead(bytes, text, to, method)
    // `startsWith` compares one character at a time, which takes longer than to parse them.
    if (this.#head !== undefined && this.#text.length === to && text.slice(0, to) === this.#text)
      return this.#head
    const head = parseResponseHead(bytes, text, to, method)
    // All of the text is kept with its part.
    if (typeof head !== 'string' && text.length <= MAX_KEPT) {
      this.#text = text.slice(0, to)
      this.#head = head
    }
    return head
  }
}

/** Parses a response head up to `to`, from its bytes and the same as Latin-1; a string is why it is invalid. */
export function parseResponseHead(
  bytes: Uint8Array,
  text: string,
  to: number,
  method: string,
): UpstreamHead | string {
  const end = text.indexOf('\r\n')
  const first = statusLine(text, end)
  if (first === undefined) return 'it does not begin with a status line'
  const { status, reason, current } = first
  if (!first.valid) return 'its status line has a control character'
  const lines = readFieldLines(bytes, text, end + 2, to, rules)
  if (lines.tooMany) return `it has more than ${MAX_RESPONSE_FIELDS} header fields`
  if (lines.fault !== undefined) return lines.fault
  if (status === 101 && lines.upgrade === '') return 'it switches protocols without naming one'
  const content = framingOf(lines, current)
  if (typeof content === 'string') return content
  const named = listed(lines.connection)
  if (named.includes('content-length') || named.includes('transfer-encoding'))
    return 'Connection names a field it must not'
  const bare = method === 'HEAD' || status < 200 || status === 204 || status === 304
  const announced = bare && status !== 204 && status >= 200 ? lines.length : undefined
  const head = {
    status,
    reason,
    framing: bare ? noContent : content,
    fields: keptFields(lines, named, status),
    keepAlive: named.includes('close') ? false : current || named.includes('keep-alive'),
    written: undefined,
  }
  return announced === undefined ? head : { ...head, announcedLength: announced }
}

interface StatusLine {
  readonly text: string
  readonly status: number
  readonly reason: string
  /** Of HTTP/1.1. */
  readonly current: boolean
  /** Without control characters. */
  readonly valid: boolean
}

// A service sends the same few again and again, mostly the same as last time.
const MAX_KNOWN = 256
const known = new Map<string, StatusLine>()
let last: StatusLine | undefined

function statusLine(text: string, end: number): StatusLine | undefined {
  if (last !== undefined && last.text.length === end && text.startsWith(last.text)) return last
  const written = text.slice(0, end)
  const line = known.get(written) ?? readStatusLine(written)
  if (line !== undefined && line.text.length < MAX_KNOWN) {
    last = line
    if (known.size < MAX_KNOWN) known.set(line.text, line)
  }
  return line
}

function readStatusLine(text: string): StatusLine | undefined {
  const match = STATUS_LINE.exec(text)
  if (match?.[2] === undefined) return undefined
  const reason = match[3] ?? ''
  const valid = allIn(valueCharacters, reason, 0, reason.length)
  return { text, status: Number(match[2]), reason, current: match[1] === '1', valid }
}

function framingOf(lines: FieldLines, current: boolean): Framing | string {
  const { coding, length } = lines
  if (coding === undefined) return length === undefined ? untilClose : { kind: 'length', length }
  if (length !== undefined) return 'it has both Content-Length and Transfer-Encoding'
  if (!current) return 'HTTP/1.0 has no Transfer-Encoding'
  return coding === 'chunked' ? chunked : 'its Transfer-Encoding is not "chunked"'
}

function keptFields(lines: FieldLines, named: readonly string[], status: number): Fields {
  let fields = new Fields(lines.text)
  for (const name of named) if (!ofConnection.has(name) && !endToEnd.has(name)) fields = fields.without(name)
  return status === 101 ? fields.with('Upgrade', lines.upgrade) : fields
}
