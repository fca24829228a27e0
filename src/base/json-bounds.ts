/** Deeper than any JSON that Adit accepts; limits the work of everything that walks it. */
const MAX_JSON_DEPTH = 32
/** Numbers, strings, keys, arrays and objects; a mebibyte of the shortest would take 50 ms to parse and check. */
const MAX_JSON_VALUES = 5000

const QUOTE = 0x22
const BACKSLASH = 0x5c
const SIGN = /["{}[\],:]/g
const [COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x2c, 0x3a, 0x5b, 0x5d, 0x7b, 0x7d]

/** Counts the values of a JSON text, outside of its strings. */
export class JsonBounds {
  #values = 0
  #depth = 0

  get depth(): number {
    return this.#depth
  }

  /** Takes one token; returns the reason once a limit is exceeded. */
  add(code: number): string | undefined {
    if (code === COMMA || code === COLON) this.#values++
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      this.#values++
      if (++this.#depth > MAX_JSON_DEPTH) return `it is nested deeper than ${MAX_JSON_DEPTH} levels`
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) this.#depth--
    return this.#values > MAX_JSON_VALUES ? `it has more than ${MAX_JSON_VALUES} values` : undefined
  }
}

/** Why a JSON text is rejected before parsing; undefined when it is acceptable. */
export function jsonBoundsFault(text: string): string | undefined {
  const bounds = new JsonBounds()
  for (let at = nextSign(text, 0); at !== -1; at = nextSign(text, at)) {
    const code = text.charCodeAt(at)
    const fault = bounds.add(code)
    if (fault !== undefined) return fault
    at = code === QUOTE ? endOfText(text, at) : at + 1
  }
  return undefined
}

/** Position of the next bracket, comma, colon or quote; -1 when there is none. */
export function nextSign(text: string, from: number): number {
  SIGN.lastIndex = from
  return SIGN.test(text) ? SIGN.lastIndex - 1 : -1
}

/** The end of the string that starts here; the end of the text when it is not closed. */
export function endOfText(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++
    if (escapes % 2 === 0) return at + 1
  }
  return text.length
}
