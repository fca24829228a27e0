import { addressesOf, queryOf } from '#webhooks/address.ts'
import { formOf, type Parameters, parametersOf, sortedText } from '#webhooks/form.ts'
import { byHeader, inHeader } from '#webhooks/hmac.ts'
import type { SignedMessage } from '#webhooks/signatures.ts'
import { only, type Webhook } from '#webhooks/webhook.ts'

const withoutQuery = (address: string): string => address.split('?', 1)[0] ?? ''

/** Version 2: the URL without its query, and a nonce. The body is not signed. */
const second = inHeader({
  headers: ['x-plivo-signature-v2', 'x-plivo-signature-ma-v2'],
  separator: ',',
  encoding: 'base64',
  messages: webhook => {
    const nonce = only(webhook.fields, 'x-plivo-signature-v2-nonce')
    return nonce === undefined
      ? undefined
      : addressesOf(webhook).map(address => [withoutQuery(address), nonce])
  },
})

const third = inHeader({
  headers: ['x-plivo-signature-v3', 'x-plivo-signature-ma-v3'],
  separator: ',',
  encoding: 'base64',
  messages: webhook => {
    const nonce = only(webhook.fields, 'x-plivo-signature-v3-nonce')
    return nonce === undefined ? undefined : thirdMessages(webhook, nonce)
  },
})

/** The URL with its query sorted, the form parameters sorted, and a nonce. */
function thirdMessages(webhook: Webhook, nonce: string): readonly SignedMessage[] | undefined {
  const form = formOf(webhook)
  if (form === undefined) return undefined
  const query = sortedQuery(parametersOf(queryOf(webhook.target)))
  const posted = sortedText(form, (name, values) =>
    values
      .toSorted()
      .map(value => name + value)
      .join(''),
  )
  // The sender writes a question mark before a form even without a query.
  const tail =
    form.size > 0 ? `?${query}${query === '' ? '' : '.'}${posted}` : query === '' ? '' : `?${query}`
  return addressesOf(webhook).map(address => [withoutQuery(address), tail, '.', nonce])
}

const sortedQuery = (query: Parameters): string =>
  [...query.keys()]
    .toSorted()
    .flatMap(name => (query.get(name) ?? []).toSorted().map(value => `${name}=${value}`))
    .join('&')

export const plivo = byHeader({
  'x-plivo-signature-v3': third,
  'x-plivo-signature-ma-v3': third,
  'x-plivo-signature-v2': second,
  'x-plivo-signature-ma-v2': second,
})
