import { inHeader } from '#webhooks/hmac.ts'
import { jsonObject } from '#webhooks/json.ts'
import { timestampError } from '#webhooks/timestamps.ts'
import { refused, type WebhookScheme, verified } from '#webhooks/webhook.ts'

const WINDOW = 60

const signed = inHeader({ headers: ['linear-signature'], encoding: 'hex' })

/** The time is in the body; the header that repeats it is not signed. */
export const linear: WebhookScheme = (secret, parts) => {
  const verify = signed(secret, parts)
  return async webhook => {
    const verdict = await verify(webhook)
    if (verdict.kind !== 'verified') return verdict
    const stamp = jsonObject(webhook.body)?.['webhookTimestamp']
    const fault = timestampError(typeof stamp === 'number' ? String(stamp) : '', webhook.now, WINDOW)
    return fault === undefined ? verified : refused(fault)
  }
}
