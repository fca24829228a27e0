import { type JsonObject, MessageError } from '#base/json-fields.ts'
import { JsonBounds } from '#base/json-bounds.ts'
import { isPlainObject } from '#base/plain-object.ts'
import { HeldBytes } from '#tunnel/held-bytes.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const closing = new Set([0x7d, 0x5d])
const blank = new Set([0x20, 0x09, 0x0a, 0x0d])

/**
 * Collects one JSON object from chunks of any size. It scans every byte once to find the end, because one agent family
 * does not mark it, and parses only then.
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
    for (let index = 0; index < bytes.length; index++) {
      const byte = bytes[index] ?? 0
      if (this.#escaped) this.#escaped = false
      else if (this.#inText && byte === BACKSLASH) this.#escaped = true
      else if (byte === QUOTE) this.#inText = !this.#inText
      else if (this.#inText) continue
      else {
        const fault = this.#bounds.add(byte)
        if (fault !== undefined) throw new MessageError(`The message cannot be read: ${fault}.`)
        if (closing.has(byte) && this.#bounds.depth <= 0) return index + 1
      }
      if (this.#bounds.depth === 0 && !blank.has(byte)) return index + 1
    }
    return undefined
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
