import { type JsonObject, MessageError } from '#base/json-fields.ts'
import { JsonBounds } from '#base/json-bounds.ts'
import { isPlainObject } from '#base/plain-object.ts'
import { HeldBytes } from '#tunnel/held-bytes.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const blank = new Set([0x20, 0x09, 0x0a, 0x0d])

/**
 * Collects one JSON object from chunks of any size. It looks for the end, because one agent family does not mark it, and
 * parses only then. It steps over strings: a loop over all bytes makes V8 load its optimizing compilers, which takes 5 MB
 * in an idle agent.
 */
export class JsonCollector {
  readonly #limit: number
  readonly #bytes = new HeldBytes()
  readonly #bounds = new JsonBounds()
  #inText = false
  #escaped = false

  constructor(limit: number) {
    this.#limit = limit
  }

  /** The object, once it is complete; throws when it is too large or invalid. */
  push(bytes: Buffer): JsonObject | undefined {
    const end = this.#scan(bytes)
    this.#bytes.push(bytes.subarray(0, end))
    if (this.#bytes.length > this.#limit)
      throw new MessageError(`The message is larger than ${this.#limit} bytes.`)
    return end === undefined ? undefined : this.#parse()
  }

  /** Where the object ends in these bytes. */
  #scan(bytes: Buffer): number | undefined {
    for (let at = this.#inText ? this.#skipText(bytes, 0) : 0; at < bytes.length;) {
      const byte = bytes[at++] ?? 0
      const fault = this.#bounds.add(byte)
      if (fault !== undefined) throw new MessageError(`The message cannot be read: ${fault}.`)
      if (this.#bounds.depth <= 0 && !blank.has(byte)) return at
      if (byte === QUOTE) at = this.#skipText(bytes, at)
    }
    return undefined
  }

  /** The position after the string whose inside begins here; its end if it continues in the next chunk. */
  #skipText(bytes: Buffer, from: number): number {
    this.#inText = true
    for (let start = from + (this.#escaped ? 1 : 0); start <= bytes.length;) {
      const quote = bytes.indexOf(QUOTE, start)
      const end = quote === -1 ? bytes.length : quote
      const isEscaped = backslashesBefore(bytes, end, start) % 2 === 1
      this.#escaped = quote === -1 && isEscaped
      this.#inText = quote === -1 || isEscaped
      if (quote === -1) return end
      if (!isEscaped) return end + 1
      start = end + 1
    }
    return bytes.length
  }

  #parse(): JsonObject {
    const value: unknown = this.#read()
    if (!isPlainObject(value)) throw new MessageError('The message is not a JSON object.')
    return value as JsonObject
  }

  #read(): unknown {
    try {
      return JSON.parse(this.#bytes.take(this.#bytes.length).toString('utf8'))
    } catch (error) {
      throw new MessageError('The message is not valid JSON.', { cause: error })
    }
  }
}

/** How many backslashes are directly before a position. */
function backslashesBefore(bytes: Buffer, end: number, start: number): number {
  let count = 0
  while (end - count > start && bytes[end - count - 1] === BACKSLASH) count++
  return count
}
