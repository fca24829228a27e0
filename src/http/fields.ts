const SPACE = 0x20
const TAB = 0x09
const LINE_END = '\r\n'

/** Trims HTTP white space only: `trim` removes more, which is part of a value. */
export function trimmed(text: string, from: number, to: number): string {
  while (from < to && blank(text.charCodeAt(from))) from++
  while (to > from && blank(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

const blank = (code: number): boolean => code === SPACE || code === TAB

/**
 * Header fields, as text: lines `Name: value\r\n`. Only text that passed the strict parser, or was checked by its
 * author, gets in here, so scanning it line by line is safe. Immutable.
 */
export class Fields {
  static readonly none = new Fields('')
  readonly text: string

  constructor(text: string) {
    this.text = text
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
