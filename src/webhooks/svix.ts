import { byHeader, inHeader } from '#webhooks/hmac.ts'
import { base64Key } from '#webhooks/signatures.ts'
import { only, type WebhookScheme } from '#webhooks/webhook.ts'

const WINDOW = 300

/** The headers `<name>-id`, `<name>-timestamp` and `<name>-signature`, introduced by Svix and used by others. */
const named = (name: string): WebhookScheme =>
  inHeader({
    headers: [`${name}-signature`],
    separator: ' ',
    // The others, v1a, are made with a private key; the secret cannot verify them.
    prefix: 'v1,',
    encoding: 'base64',
    keys: secret => [base64Key(secret.replace(/^whsec_/, ''))],
    stamp: `${name}-timestamp`,
    window: WINDOW,
    messages: ({ fields, body }, stamp) => {
      const id = only(fields, `${name}-id`)
      return id === undefined ? undefined : [[id, '.', stamp, '.', body]]
    },
  })

/** Standard Webhooks, and Svix's own names for the same. */
export const svix = byHeader({
  'svix-signature': named('svix'),
  'webhook-signature': named('webhook'),
})
