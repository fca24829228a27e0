/** Whether a parsed JSON value is an object: neither null nor a list. */
export const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The object in a JSON text; empty when there is none, as in a damaged row. */
export function objectInText(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return isPlainObject(value) ? value : {}
  } catch {
    return {}
  }
}
