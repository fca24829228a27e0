import { createPublicKey, createVerify, type KeyObject } from 'node:crypto'
import { base64Bytes, feed } from '#webhooks/signatures.ts'
import { timestampError, USUAL_WINDOW } from '#webhooks/timestamps.ts'
import { only, refused, type WebhookScheme, UnusableSecret, verified } from '#webhooks/webhook.ts'

const SIGNATURE = 'x-twilio-email-event-webhook-signature'
const STAMP = 'x-twilio-email-event-webhook-timestamp'
/** Two numbers of 256 bits in ASN.1, with room to spare. */
const MAX_SIGNATURE = 96

/** Signed with a private key of the sender; the configured secret is the public one. */
export const sendgrid: WebhookScheme = secret => {
  const key = publicKey(secret)
  return async ({ fields, body, now }) => {
    const signature = base64Bytes(fields.get(SIGNATURE) ?? '', MAX_SIGNATURE)
    const stamp = only(fields, STAMP)
    if (signature === undefined || stamp === undefined) return refused(`it has no signature in ${SIGNATURE}`)
    const fault = timestampError(stamp, now, USUAL_WINDOW)
    if (fault !== undefined) return refused(fault)
    const check = createVerify('sha256')
    await feed(check, [stamp, body])
    return check.verify(key, signature) ? verified : refused('its signature does not match')
  }
}

function publicKey(secret: string): KeyObject {
  try {
    const key = createPublicKey({ key: Buffer.from(secret, 'base64'), format: 'der', type: 'spki' })
    // Verification with other curves can take several times as long.
    if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return key
  } catch {
    // Reported below.
  }
  throw new UnusableSecret('must be the public key that the sender shows')
}
