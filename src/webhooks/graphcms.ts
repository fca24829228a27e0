import { isUtf8 } from 'node:buffer'
import { inPairs } from '#webhooks/hmac.ts'
import { refused, type WebhookScheme } from '#webhooks/webhook.ts'

/** Escaping more of it as a JSON string would be work that any client could cause. */
const MAX_BODY = 256 * 1024
const tooLong = refused('its body is too long')
const unreadable = refused('its body is not text')

/** The body is signed as a string inside JSON, together with the environment and the time. */
const signed = inPairs({
  header: 'gcms-signature',
  stamp: 't',
  signature: 'sign',
  encoding: 'base64',
  message: ({ body }, stamp, pairs) => [
    JSON.stringify({
      Body: body.toString(),
      EnvironmentName: pairs.get('env')?.[0] ?? '',
      TimeStamp: Number(stamp),
    }),
  ],
})

/** Hygraph, formerly GraphCMS. */
export const graphcms: WebhookScheme = (secret, parts) => {
  const verify = signed(secret, parts)
  // Invalid UTF-8 all becomes the same character: two bodies would have one signature.
  return webhook => {
    if (webhook.body.length > MAX_BODY) return tooLong
    return isUtf8(webhook.body) ? verify(webhook) : unreadable
  }
}
