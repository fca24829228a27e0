import { sameSecret } from '#webhooks/signatures.ts'
import { only, refused, type WebhookScheme, UnusableSecret, verified } from '#webhooks/webhook.ts'

const BASIC = /^basic +([a-z0-9+/]+={0,2})$/i
const SEPARATOR = '::'

const wrong = refused('it does not contain the secret')

/** A sender that does not sign but sends the secret. */
export const tokenIn =
  (header: string): WebhookScheme =>
  secret => {
    const right = Buffer.from(secret)
    return ({ fields }) => {
      // Header bytes are stored as one character each.
      const given = Buffer.from(only(fields, header) ?? '', 'latin1')
      return sameSecret(given, right) ? verified : wrong
    }
  }

/** A sender that uses basic auth; the secret is `username::password`. */
export const basicSecret: WebhookScheme = secret => {
  const at = secret.indexOf(SEPARATOR)
  if (at < 0) throw new UnusableSecret('must have the form username::password')
  const right = Buffer.from(`${secret.slice(0, at)}:${secret.slice(at + SEPARATOR.length)}`)
  return ({ fields }) => {
    const encoded = BASIC.exec(only(fields, 'authorization') ?? '')?.[1] ?? ''
    return sameSecret(Buffer.from(encoded, 'base64'), right) ? verified : wrong
  }
}
