/** Deeper than any JSON that is sent to Adit; bounds the work of everything that walks it. */
export const MAX_JSON_DEPTH = 32
/** Numbers, texts, keys, lists and objects; a mebibyte of the shortest would take a parser 50 ms. */
export const MAX_JSON_VALUES = 10_000

const QUOTE = 0x22
const BACKSLASH = 0x5c
const [COMMA, COLON, OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x2c, 0x3a, 0x5b, 0x5d, 0x7b, 0x7d]

/** Counts what a JSON text has, sign by sign and outside of its texts. */
export class JsonBounds {
  #values = 0
  #depth = 0

  get depth(): number {
    return this.#depth
  }

  /** Takes one sign; why the text has too much of something, once it has. */
  add(code: number): string | undefined {
    if (code === COMMA || code === COLON) this.#values++
    else if (code === OPEN_LIST || code === OPEN_OBJECT) {
      this.#values++
      if (++this.#depth > MAX_JSON_DEPTH) return `it is nested deeper than ${MAX_JSON_DEPTH} levels`
    } else if (code === CLOSE_LIST || code === CLOSE_OBJECT) this.#depth--
    return this.#values > MAX_JSON_VALUES ? `it has more than ${MAX_JSON_VALUES} values` : undefined
  }
}

/** Why a JSON text is not even parsed; undefined when it may be. */
export function jsonBoundsFault(text: string): string | undefined {
  const bounds = new JsonBounds()
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfText(text, at) - 1
    else {
      const fault = bounds.add(code)
      if (fault !== undefined) return fault
    }
  }
  return undefined
}

/** Where a text in quotes that starts here ends; the end of all when it does not. */
export function endOfText(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === BACKSLASH) at++
    else if (code === QUOTE) return at + 1
  }
  return text.length
}
