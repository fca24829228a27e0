import { jsonBoundsFault } from '#base/json-bounds.ts'
import { isPlainObject } from '#base/plain-object.ts'

/** A JSON object; undefined when it is not one, or expensive to parse. */
export function jsonObject(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const text = bytes.toString()
    return jsonBoundsFault(text) === undefined ? objectIn(JSON.parse(text)) : undefined
  } catch {
    return undefined
  }
}

export const objectIn = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  isPlainObject(value) ? value : undefined
