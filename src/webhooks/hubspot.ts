import { addressesOf } from '#webhooks/address.ts'
import { byHeader, inHeader } from '#webhooks/hmac.ts'
import { bodyHash, type SignedMessage, signatureBytes, someEqual } from '#webhooks/signatures.ts'
import { refused, type WebhookScheme, verified, type Webhook } from '#webhooks/webhook.ts'

/** Characters that are signed unescaped although they are sent escaped: `: / ? @ ! $ ' ( ) * , ;` */
const UNESCAPED = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi

const unescaped = (address: string): string => address.replace(UNESCAPED, decodeURIComponent)

function thirdMessages(webhook: Webhook, stamp: string): readonly SignedMessage[] {
  const { method, body } = webhook
  const addresses = addressesOf(webhook)
  const forms = new Set([...addresses.map(unescaped), ...addresses])
  return [...forms].map(address => [method, address, body, stamp])
}

const third = inHeader({
  headers: ['x-hubspot-signature-v3'],
  encoding: 'base64',
  stamp: 'x-hubspot-request-timestamp',
  window: 300,
  messages: thirdMessages,
})

/** The earlier versions: a hash over the secret and the message, without a time. */
const earlier: WebhookScheme = secret => async webhook => {
  const { fields, method, body } = webhook
  const signature = signatureBytes(fields.get('x-hubspot-signature') ?? '', 'hex', 32)
  if (signature === undefined) return refused('it has no signature in x-hubspot-signature')
  const messages: readonly SignedMessage[] =
    fields.get('x-hubspot-signature-version') === 'v2'
      ? addressesOf(webhook).map(address => [secret, method, address, body])
      : [[secret, body]]
  for (const message of messages)
    if (someEqual([signature], await bodyHash('sha256', message))) return verified
  return refused('its signature does not match')
}

export const hubspot = byHeader({ 'x-hubspot-signature-v3': third, 'x-hubspot-signature': earlier })
