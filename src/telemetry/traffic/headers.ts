import type { Fields } from '#http/fields.ts'

const REDACTED = 'REDACTED'

/**
 * Header names whose values are credentials. It errs on the side of hiding: names are service-specific, and what was
 * sent to a log cannot be taken back.
 */
const secret =
  /auth|cookie|token|secret|passw|credential|session|signature|assertion|jwt|saml|api-?key|access-?key|private-?key|-key$|^key$/
/** Requests for a value, not the value itself. */
const harmless = new Set(['www-authenticate', 'proxy-authenticate', 'sec-websocket-key', ':authority'])

const isSecret = (name: string): boolean => secret.test(name) && !harmless.has(name)

/** Headers as JSON: the name in lower case, with its values in order; secrets are redacted. */
export function headersText(fields: Fields): string {
  const values = new Map<string, string[]>()
  for (const [written, value] of fields.entries()) {
    const name = written.toLowerCase()
    const shown = isSecret(name) ? REDACTED : value
    const known = values.get(name)
    if (known === undefined) values.set(name, [shown])
    else known.push(shown)
  }
  // Serialized by hand, because clients choose the names and an object has inherited ones.
  const members = [...values].map(([name, all]) => `${JSON.stringify(name)}:${JSON.stringify(all)}`)
  return `{${members.join(',')}}`
}
