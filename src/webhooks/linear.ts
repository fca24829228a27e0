import { inHeader } from '#webhooks/hmac.ts'
import { jsonObject } from '#webhooks/json.ts'
import { stampFault } from '#webhooks/stamps.ts'
import { refused, type Scheme, verified } from '#webhooks/webhook.ts'

const WINDOW = 60

const signed = inHeader({ headers: ['linear-signature'], encoding: 'hex' })

/** The time is in the body; the header that repeats it is not signed. */
export const linear: Scheme = (secret, parts) => {
  const verify = signed(secret, parts)
  return async webhook => {
    const verdict = await verify(webhook)
    if (verdict.kind !== 'verified') return verdict
    const stamp = jsonObject(webhook.body)?.['webhookTimestamp']
    const fault = stampFault(typeof stamp === 'number' ? String(stamp) : '', webhook.now, WINDOW)
    return fault === undefined ? verified : refused(fault)
  }
}
