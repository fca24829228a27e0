import { queryOf } from '#webhooks/address.ts'
import { inHeader } from '#webhooks/hmac.ts'
import { jsonObject, objectIn } from '#webhooks/json.ts'
import { hmacOf, keyOf } from '#webhooks/signatures.ts'
import type { WebhookResponse, WebhookScheme, Webhook } from '#webhooks/webhook.ts'

/** Challenges are short; longer requests are not checked. */
const MAX_CHALLENGE = 4096
const TOKEN = /^[a-z0-9_+/=.-]{1,256}$/i

const json = (content: object): WebhookResponse => ({
  kind: 'answer',
  status: 200,
  mediaType: 'application/json; charset=utf-8',
  content: JSON.stringify(content),
  verified: true,
})

const smallObject = ({ body }: Webhook): Readonly<Record<string, unknown>> | undefined =>
  body.length > MAX_CHALLENGE ? undefined : jsonObject(body)

const twitterSigned = inHeader({
  headers: ['x-twitter-webhooks-signature'],
  prefix: 'sha256=',
  encoding: 'base64',
})

/**
 * Sends `?crc_token=…` and expects that text signed like an event. Anyone can get such a signature, so only text that
 * cannot be an event body is signed: an event is JSON, and no token has a brace or a quote.
 */
export const twitter: WebhookScheme = (secret, parts) => {
  const verify = twitterSigned(secret, parts)
  const key = keyOf(secret)
  return webhook => {
    const token =
      webhook.method === 'GET' ? new URLSearchParams(queryOf(webhook.target)).get('crc_token') : null
    if (token === null || !TOKEN.test(token)) return verify(webhook)
    return json({ response_token: `sha256=${hmacOf('sha256', key, [token]).toString('base64')}` })
  }
}

const worldlineSigned = inHeader({ headers: ['x-gcs-signature'], encoding: 'base64' })

/** Sends a text in a header, and expects it back. */
export const worldline: WebhookScheme = (secret, parts) => {
  const verify = worldlineSigned(secret, parts)
  return webhook => {
    const asked = webhook.fields.get('x-gcs-webhooks-endpoint-verification')
    if (webhook.method !== 'GET' || asked === undefined || asked.length > MAX_CHALLENGE)
      return verify(webhook)
    return {
      kind: 'answer',
      status: 200,
      mediaType: 'text/plain; charset=utf-8',
      content: asked,
      verified: true,
    }
  }
}

const xeroSigned = inHeader({ headers: ['x-xero-signature'], encoding: 'base64' })

/** Sends messages without an event, some with a wrong signature on purpose, and expects 200 or 401. */
export const xero: WebhookScheme = (secret, parts) => {
  const verify = xeroSigned(secret, parts)
  return async webhook => {
    const verdict = await verify(webhook)
    if (!isIntent(webhook)) return verdict
    const right = verdict.kind === 'verified'
    return { kind: 'answer', status: right ? 200 : 401, content: '', verified: right }
  }
}

function isIntent(webhook: Webhook): boolean {
  const message = smallObject(webhook)
  const events = message?.['events']
  return message !== undefined && (events === null || (Array.isArray(events) && events.length === 0))
}

const zoomSigned = inHeader({
  headers: ['x-zm-signature'],
  prefix: 'v0=',
  encoding: 'hex',
  stamp: 'x-zm-request-timestamp',
  messages: ({ body }, stamp) => [['v0:', stamp, ':', body]],
})

/** Sends an event, signed like every other, and expects its token signed. */
export const zoom: WebhookScheme = (secret, parts) => {
  const verify = zoomSigned(secret, parts)
  const key = keyOf(secret)
  return async webhook => {
    const verdict = await verify(webhook)
    const message = verdict.kind === 'verified' ? smallObject(webhook) : undefined
    if (message?.['event'] !== 'endpoint.url_validation') return verdict
    const token = objectIn(message['payload'])?.['plainToken']
    if (typeof token !== 'string' || !TOKEN.test(token)) return verdict
    return json({ plainToken: token, encryptedToken: hmacOf('sha256', key, [token]).toString('hex') })
  }
}
