/** An object in JSON; undefined when the bytes are something else. */
export function jsonObject(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    return objectIn(JSON.parse(bytes.toString()))
  } catch {
    return undefined
  }
}

export const objectIn = (value: unknown): Readonly<Record<string, unknown>> | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined
