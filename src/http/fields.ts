const SPACE = 0x20
const TAB = 0x09
const LINE_END = '\r\n'
/** No longer head is repeated as the same object. */
const MAX_KEPT = 2048
/** As many as one connection needs for a few routes. */
const MAX_MADE = 4

/** What was made of fields, by a function and those before it. */
interface Made {
  readonly make: unknown
  readonly value: unknown
  readonly count: number
  readonly earlier: Made | undefined
}

/** Trims HTTP white space only: `trim` removes more, which is part of a value. */
export function trimmed(text: string, from: number, to: number): string {
  while (from < to && blank(text.charCodeAt(from))) from++
  while (to > from && blank(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

const blank = (code: number): boolean => code === SPACE || code === TAB

/** Text of one character for each byte, without its parts: V8 would join them at each use. */
export const inOnePiece = (text: string): string => Buffer.from(text, 'latin1').toString('latin1')

/**
 * Header fields, as text: lines `Name: value\r\n`. Only text that passed the strict parser, or was checked by its
 * author, gets in here, so scanning it line by line is safe. Immutable.
 */
export class Fields {
  static readonly none = new Fields('')
  readonly text: string
  #made: Made | undefined

  constructor(text: string) {
    this.text = text
  }

  /**
   * What `make` returns, kept for the next call: the fields that a client or a service repeats are one object. It must
   * depend on nothing but the fields.
   */
  made<Value>(make: (fields: Fields) => Value): Value {
    for (let made = this.#made; made !== undefined; made = made.earlier)
      if (made.make === make) return made.value as Value
    const value = make(this)
    if (this.text.length > MAX_KEPT) return value
    const earlier = this.#made
    const count = earlier === undefined ? 1 : earlier.count + 1
    this.#made =
      count > MAX_MADE ? { make, value, count: 1, earlier: undefined } : { make, value, count, earlier }
    return value
  }

  /** The first value of a name in lower case. */
  get(name: string): string | undefined {
    const { text } = this
    for (let at = 0; at < text.length;) {
      const end = lineEnd(text, at)
      if (isNamed(text, at, name)) return trimmed(text, at + name.length + 1, end)
      at = end + 2
    }
    return undefined
  }

  all(name: string): string[] {
    const values: string[] = []
    for (const [key, value] of this.entries()) if (key.toLowerCase() === name) values.push(value)
    return values
  }

  *entries(): Generator<[name: string, value: string]> {
    const { text } = this
    for (let at = 0; at < text.length;) {
      const end = lineEnd(text, at)
      const colon = text.indexOf(':', at)
      if (colon > at && colon < end) yield [text.slice(at, colon), trimmed(text, colon + 1, end)]
      at = end + 2
    }
  }

  without(name: string): Fields {
    return this.withoutAll([name])
  }

  /** Removes all lines with one of these names, in lower case. */
  withoutAll(names: readonly string[]): Fields {
    const { text } = this
    let kept = ''
    let from = 0
    for (let at = 0; at < text.length;) {
      const next = lineEnd(text, at) + 2
      if (isNamedAny(text, at, names)) {
        kept += text.slice(from, at)
        from = next
      }
      at = next
    }
    return from === 0 ? this : new Fields(kept + text.slice(from))
  }

  /** Adds a line; a value that could end the line or the head is rejected. */
  with(name: string, value: string): Fields {
    if (/[\0\r\n]/.test(name + value)) throw new TypeError(`"${name}" cannot have that value.`)
    return new Fields(`${this.text}${name}: ${value}\r\n`)
  }
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf(LINE_END, at)
  return end < 0 ? text.length : end
}

function isNamedAny(text: string, at: number, names: readonly string[]): boolean {
  for (const name of names) if (isNamed(text, at, name)) return true
  return false
}

/** Whether the line at `at` has that name, in lower case. */
function isNamed(text: string, at: number, name: string): boolean {
  const colon = at + name.length
  if (text.charCodeAt(colon) !== 0x3a) return false
  for (let index = 0; index < name.length; index++) {
    const code = text.charCodeAt(at + index)
    const lower = code >= 0x41 && code <= 0x5a ? code | 0x20 : code
    if (lower !== name.charCodeAt(index)) return false
  }
  return true
}
