import type { Webhook } from '#webhooks/webhook.ts'

const FORM = /^application\/x-www-form-urlencoded(?:$|[\s;])/i
const AMPERSAND = 0x26
/** More than any sender has; sorting more would be work that any client could cause. */
const MAX_PARAMETERS = 1000
const MAX_FORM = 1024 * 1024

export type Parameters = ReadonlyMap<string, readonly string[]>

/** The form parameters in the body; undefined when it is not a form. An empty body has none. */
export function formOf({ fields, body }: Webhook): Parameters | undefined {
  if (body.length === 0) return new Map()
  if (!FORM.test(fields.get('content-type') ?? '') || body.length > MAX_FORM || tooMany(body))
    return undefined
  return parametersOf(body.toString())
}

export function parametersOf(text: string): Parameters {
  const found = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(text)) {
    const values = found.get(name)
    if (values === undefined) found.set(name, [value])
    else values.push(value)
  }
  return found
}

/** Each name with its values, sorted by name, concatenated. */
export const sortedText = (
  parameters: Parameters,
  write: (name: string, values: readonly string[]) => string,
): string =>
  [...parameters.keys()]
    .toSorted()
    .map(name => write(name, parameters.get(name) ?? []))
    .join('')

function tooMany(body: Buffer): boolean {
  let count = 1
  for (let at = body.indexOf(AMPERSAND); at >= 0; at = body.indexOf(AMPERSAND, at + 1))
    if (++count > MAX_PARAMETERS) return true
  return false
}
