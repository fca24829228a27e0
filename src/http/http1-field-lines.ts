import type { ProxyFields } from '#base/trusted-proxies.ts'
import { trimmed } from '#http/fields.ts'
import { valueCharacters } from '#http/http1-characters.ts'

export interface FieldRules {
  readonly maxFields: number
  readonly nameCharacters: Uint8Array
  /** Which names may matter; any other line is kept without another look. */
  readonly watched: Watched
  /** Called with a lower-case name that may matter; true: the line is dropped. */
  readonly take: (into: FieldLines, name: string, value: string) => boolean
}

const COLON = 0x3a
const CR = 0x0d
const LF = 0x0a
const A = 0x61

/** The parsed meaning of a head's lines, and the text of those that are forwarded. */
export class FieldLines {
  text = ''
  fault: string | undefined
  tooMany = false
  host: string | undefined
  length: number | undefined
  coding: string | undefined
  /** The names in Connection, in lower case. */
  connection = ''
  upgrade = ''
  expect: string | undefined
  proxyFields: ProxyFields | undefined
}

/** Bitmaps of how relevant names begin, so that most lines need no comparison. */
interface Watched {
  /** The first letters, by the length of the name. */
  readonly first: Uint32Array
  /** The second letters, by the first one. */
  readonly second: Uint32Array
}

const MAX_LENGTH = 63

/** For exact names, and for all that begin with a family prefix. */
export function watched(names: readonly string[], families: readonly string[] = []): Watched {
  const first = new Uint32Array(MAX_LENGTH + 1)
  const second = new Uint32Array(32)
  const watch = (name: string, longest: number): void => {
    const letter = name.charCodeAt(0) - A
    for (let size = name.length; size <= longest; size++) first[size] = (first[size] ?? 0) | (1 << letter)
    // Characters other than letters have other spellings too.
    const next = /^.[a-z]/.test(name) ? 1 << (name.charCodeAt(1) - A) : -1
    second[letter] = (second[letter] ?? 0) | next
  }
  for (const name of names) watch(name, name.length)
  for (const family of families) watch(family, MAX_LENGTH)
  return { first, second }
}

const spelled = 'Host Connection Content-Length Transfer-Encoding Keep-Alive Upgrade'.split(' ')
/** The usual spelling of relevant names, by length: comparing is cheaper than lower-casing each. */
const usual = Array.from({ length: 18 }, (_, size) =>
  spelled.filter(name => name.length === size).map(written => ({ written, name: written.toLowerCase() })),
)

function lowerCase(text: string, start: number, end: number): string {
  const likely = usual[end - start]
  if (likely !== undefined)
    for (const { written, name } of likely) if (text.startsWith(written, start)) return name
  return text.slice(start, end).toLowerCase()
}

/**
 * Reads lines that each end in CRLF, between two positions of a head, in one pass that checks every byte. `text` is the
 * same bytes as Latin-1: its characters cost three times as much to look at, its slices a third.
 */
export function readFieldLines(
  bytes: Uint8Array,
  text: string,
  at: number,
  to: number,
  rules: FieldRules,
): FieldLines {
  const lines = new FieldLines()
  const { nameCharacters, maxFields } = rules
  const { first, second } = rules.watched
  let keptFrom = at
  let count = 0
  while (at < to) {
    const start = at
    while (nameCharacters[bytes[at] ?? 0] === 1) at++
    if (bytes[at] !== COLON || at === start) return faulty(lines, text, start, at)
    const colon = at++
    while (valueCharacters[bytes[at] ?? 0] === 1) at++
    const end = at
    if (bytes[at++] !== CR || bytes[at++] !== LF)
      return withFault(lines, 'a header field has a character that is not allowed in values')
    if (++count > maxFields) {
      lines.tooMany = true
      return lines
    }
    const size = colon - start
    const letter = ((bytes[start] ?? 0) | 0x20) - A
    if (letter < 0 || (((first[Math.min(size, MAX_LENGTH)] ?? 0) >>> letter) & 1) === 0) continue
    const next = ((bytes[start + 1] ?? 0) | 0x20) - A
    if ((((second[letter] ?? 0) >>> next) & 1) === 0) continue
    if (!rules.take(lines, lowerCase(text, start, colon), trimmed(text, colon + 1, end))) continue
    lines.text += text.slice(keptFrom, start)
    keptFrom = at
  }
  lines.text += text.slice(keptFrom, to)
  return lines
}

const withFault = (lines: FieldLines, fault: string): FieldLines => {
  lines.fault ??= fault
  return lines
}

function faulty(lines: FieldLines, text: string, start: number, at: number): FieldLines {
  const code = text.charCodeAt(at)
  const blank = code === 0x20 || code === 0x09
  if (blank && at === start) return withFault(lines, 'a header field continues over several lines')
  if (blank) return withFault(lines, 'there is white space before the colon of a header field')
  if (text[at] === '_') return withFault(lines, 'the name of a header field has an underscore')
  return withFault(lines, 'a line of the head is not a header field')
}

/** Handles the framing and connection fields of requests and responses; false: it is another field. */
export function takeCommon(lines: FieldLines, name: string, value: string): boolean {
  switch (name) {
    case 'content-length':
      takeLength(lines, value)
      return true
    case 'transfer-encoding':
      takeCoding(lines, value)
      return true
    case 'connection':
      takeConnection(lines, value)
      return true
    case 'keep-alive':
    case 'proxy-connection':
      return true
    default:
      return false
  }
}

/** A second Content-Length is rejected even with the same value. */
function takeLength(lines: FieldLines, value: string): void {
  const length = decimal(value)
  if (lines.length !== undefined || length === undefined)
    lines.fault ??= 'there must be one Content-Length, and it must be a number'
  lines.length = length ?? 0
}

/** Parses up to 15 digits, and nothing else. */
function decimal(text: string): number | undefined {
  if (text.length === 0 || text.length > 15) return undefined
  let value = 0
  for (let at = 0; at < text.length; at++) {
    const digit = text.charCodeAt(at) - 0x30
    if (digit < 0 || digit > 9) return undefined
    value = value * 10 + digit
  }
  return value
}

function takeCoding(lines: FieldLines, value: string): void {
  if (lines.coding !== undefined) lines.fault ??= 'there is more than one Transfer-Encoding'
  lines.coding = value === 'chunked' ? value : value.toLowerCase()
}

function takeConnection(lines: FieldLines, value: string): void {
  const lower = value === 'keep-alive' || value === 'close' ? value : value.toLowerCase()
  lines.connection = lines.connection === '' ? lower : `${lines.connection},${lower}`
}

const nothing: readonly string[] = []
const keepAlive: readonly string[] = ['keep-alive']
const close: readonly string[] = ['close']

/** The members of a list such as Connection's. */
export function listed(list: string): readonly string[] {
  if (list === '') return nothing
  if (list === 'keep-alive') return keepAlive
  return list === 'close' ? close : members(list)
}

const members = (list: string): string[] =>
  list
    .split(',')
    .map(member => trimmed(member, 0, member.length))
    .filter(member => member !== '')
