import { addressesOf, queryOf } from '#webhooks/address.ts'
import { formOf, sortedText } from '#webhooks/form.ts'
import { inHeader } from '#webhooks/hmac.ts'
import { bodyHash, type SignedMessage, signatureBytes, someEqual } from '#webhooks/signatures.ts'
import type { Webhook } from '#webhooks/webhook.ts'

/** The URL followed by the form parameters; undefined when the body is not signed that way. */
function addressAndForm(webhook: Webhook): readonly SignedMessage[] | undefined {
  const form = formOf(webhook)
  if (form === undefined) return undefined
  const text = sortedText(form, (name, values) =>
    [...new Set(values)]
      .toSorted()
      .map(value => name + value)
      .join(''),
  )
  return addressesOf(webhook).map(address => [address, text])
}

/** Other bodies are signed by their hash in the query, which is part of the URL. */
async function addressWithHash(
  webhook: Webhook,
  hash: string,
): Promise<readonly SignedMessage[] | undefined> {
  const given = signatureBytes(hash, 'hex', 32)
  if (given === undefined || !someEqual([given], await bodyHash('sha256', [webhook.body]))) return undefined
  return addressesOf(webhook).map(address => [address])
}

export const twilio = inHeader({
  headers: ['x-twilio-signature'],
  algorithm: 'sha1',
  encoding: 'base64',
  messages: webhook => {
    const hash = new URLSearchParams(queryOf(webhook.target)).get('bodySHA256')
    return hash === null ? addressAndForm(webhook) : addressWithHash(webhook, hash)
  },
})

/** Mailchimp Transactional; the webhooks of audiences are not signed at all. */
export const mailchimp = inHeader({
  headers: ['x-mandrill-signature'],
  algorithm: 'sha1',
  encoding: 'base64',
  messages: addressAndForm,
})
