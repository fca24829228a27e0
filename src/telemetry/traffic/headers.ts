import type { Fields } from '#http/fields.ts'

const REDACTED = 'REDACTED'

/**
 * Names of fields whose values let their holder in somewhere. It rather hides too much: which names services use is
 * not known here, and what has been sent to a log cannot be taken back.
 */
const secret =
  /auth|cookie|token|secret|passw|credential|session|signature|assertion|jwt|saml|api-?key|access-?key|private-?key|-key$|^key$/
/** These say what is asked for, not what was given. */
const harmless = new Set(['www-authenticate', 'proxy-authenticate', 'sec-websocket-key', ':authority'])

const isSecret = (name: string): boolean => secret.test(name) && !harmless.has(name)

/** Fields as JSON: the name in lower case, and its values in the order in which they came; secrets are left out. */
export function headersText(fields: Fields): string {
  const values = new Map<string, string[]>()
  for (const [written, value] of fields.entries()) {
    const name = written.toLowerCase()
    const shown = isSecret(name) ? REDACTED : value
    const known = values.get(name)
    if (known === undefined) values.set(name, [shown])
    else known.push(shown)
  }
  // Written by hand, because visitors choose the names and an object has names of its own.
  const members = [...values].map(([name, all]) => `${JSON.stringify(name)}:${JSON.stringify(all)}`)
  return `{${members.join(',')}}`
}
