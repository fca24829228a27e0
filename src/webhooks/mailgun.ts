import { digestBytes, hmacOf, keyOf, signatureBytes, someEqual } from '#webhooks/signatures.ts'
import { formOf } from '#webhooks/form.ts'
import { jsonObject, objectIn } from '#webhooks/json.ts'
import { partsOf } from '#webhooks/multipart.ts'
import { timestampError, USUAL_WINDOW } from '#webhooks/timestamps.ts'
import { refused, type WebhookScheme, verified, type Webhook } from '#webhooks/webhook.ts'

/** Events are far shorter; parsing more JSON would be work that any client could cause. */
const MAX_JSON = 1024 * 1024

type Value = (name: string) => string | undefined

/**
 * The signature is in the body and covers only a time and a token: nothing else is signed. Events are JSON; forwarded
 * messages and old webhooks are forms.
 */
export const mailgun: WebhookScheme = secret => {
  const key = keyOf(secret)
  return webhook => {
    const value = signatureIn(webhook)
    const stamp = value('timestamp')
    const token = value('token')
    // Events of a subaccount are also signed with the key of the parent account.
    const signatures = [value('signature'), value('parent-signature')]
      .map(text => signatureBytes(text ?? '', 'hex', digestBytes.sha256))
      .filter(bytes => bytes !== undefined)
    if (stamp === undefined || token === undefined || signatures.length === 0)
      return refused('it has no signature in its body')
    const fault = timestampError(stamp, webhook.now, USUAL_WINDOW)
    if (fault !== undefined) return refused(fault)
    const right = hmacOf('sha256', key, [stamp, token])
    return someEqual(signatures, right) ? verified : refused('its signature does not match')
  }
}

function signatureIn(webhook: Webhook): Value {
  const { fields, body } = webhook
  const mediaType = fields.get('content-type') ?? ''
  if (/^application\/json\b/i.test(mediaType)) {
    const signature = body.length > MAX_JSON ? undefined : objectIn(jsonObject(body)?.['signature'])
    return name => textOf(signature?.[name])
  }
  if (/^multipart\/form-data\b/i.test(mediaType)) {
    const found = partsOf(body, mediaType)
    return name => found.get(name)
  }
  const form = formOf(webhook)
  return name => form?.get(name)?.[0]
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined
