import { trimmed } from '#gateway/http/fields.ts'
import { valueCharacters } from '#gateway/http/http1-characters.ts'

export interface FieldRules {
  readonly maxFields: number
  readonly nameCharacters: Uint8Array
  /** Which names may matter, by `lettersByLength`; the line of any other is kept without a further look. */
  readonly letters: Uint32Array
  /** Called with a name in lower case that may matter; true: the line is not passed on. */
  readonly take: (into: FieldLines, name: string, value: string) => boolean
}

const COLON = 0x3a
const CR = 0x0d
const LF = 0x0a
const A = 0x61

/** What the lines of a head say about the message itself, and the text of those that are passed on. */
export class FieldLines {
  text = ''
  fault: string | undefined
  tooMany = false
  host: string | undefined
  length: number | undefined
  coding: string | undefined
  /** What Connection names, in lower case. */
  connection = ''
  upgrade = ''
  expect: string | undefined
}

/** Which first letters the given names have, by length, so that most lines need no comparison. */
export function lettersByLength(names: readonly string[]): Uint32Array {
  const letters = new Uint32Array(64)
  for (const name of names)
    letters[name.length] = (letters[name.length] ?? 0) | (1 << (name.charCodeAt(0) - A))
  return letters
}

/** Reads lines that each end in CRLF, from `at` to the end of the text, in one pass that checks every byte. */
export function readFieldLines(text: string, at: number, rules: FieldRules): FieldLines {
  const lines = new FieldLines()
  let keptFrom = at
  let count = 0
  while (at < text.length) {
    const start = at
    while (rules.nameCharacters[text.charCodeAt(at)] === 1) at++
    if (text.charCodeAt(at) !== COLON || at === start) return faulty(lines, text, start, at)
    const colon = at++
    while (valueCharacters[text.charCodeAt(at)] === 1) at++
    const end = at
    if (text.charCodeAt(at++) !== CR || text.charCodeAt(at++) !== LF)
      return withFault(lines, 'a header field has a character that is not allowed in values')
    if (++count > rules.maxFields) {
      lines.tooMany = true
      return lines
    }
    const size = colon - start
    const first = (text.charCodeAt(start) | 0x20) - A
    if (first < 0 || (((rules.letters[Math.min(size, 63)] ?? 0) >>> first) & 1) === 0) continue
    const name = text.slice(start, colon).toLowerCase()
    if (!rules.take(lines, name, trimmed(text, colon + 1, end))) continue
    lines.text += text.slice(keptFrom, start)
    keptFrom = at
  }
  lines.text += text.slice(keptFrom)
  return lines
}

const withFault = (lines: FieldLines, fault: string): FieldLines => {
  lines.fault ??= fault
  return lines
}

function faulty(lines: FieldLines, text: string, start: number, at: number): FieldLines {
  const code = text.charCodeAt(at)
  const blank = code === 0x20 || code === 0x09
  if (blank && at === start) return withFault(lines, 'a header field goes on over several lines')
  if (blank) return withFault(lines, 'there is white space before the colon of a header field')
  if (text[at] === '_') return withFault(lines, 'the name of a header field has an underscore')
  return withFault(lines, 'a line of the head is not a header field')
}

/** Takes Content-Length; a second one is refused even when it says the same. */
export function takeLength(lines: FieldLines, value: string): void {
  if (lines.length !== undefined || !/^\d{1,15}$/.test(value))
    lines.fault ??= 'there must be one Content-Length, and it must be a number'
  lines.length = Number(value)
}

export function takeCoding(lines: FieldLines, value: string): void {
  if (lines.coding !== undefined) lines.fault ??= 'there is more than one Transfer-Encoding'
  lines.coding = value.toLowerCase()
}

export function takeConnection(lines: FieldLines, value: string): void {
  lines.connection += lines.connection === '' ? value.toLowerCase() : `,${value.toLowerCase()}`
}

const ALONE: ReadonlyMap<string, readonly string[]> = new Map(
  ['', 'keep-alive', 'close', 'upgrade'].map(member => [member, member === '' ? [] : [member]]),
)

/** The members of a list such as Connection's. */
export const listed = (list: string): readonly string[] => ALONE.get(list) ?? members(list)

const members = (list: string): string[] =>
  list
    .split(',')
    .map(member => trimmed(member, 0, member.length))
    .filter(member => member !== '')
