import { createPublicKey } from 'node:crypto'
import type { ModuleRule } from '#api/modules/rule.ts'
import { fail } from '#base/errors.ts'
import { webhookProviders } from '#contract/modules/webhook-verification.ts'

const base64 = { pattern: /^[\w+/-]+={0,2}$/, text: 'base64, as the sender shows it' }

/** Senders whose secrets have a required form. */
const forms: Readonly<Record<string, { readonly pattern: RegExp; readonly text: string }>> = {
  brex: base64,
  clerk: base64,
  microsoft_teams: base64,
  svix: base64,
  vmware: { pattern: /^.*::/, text: 'of the form username::password' },
}

export const checkWebhookVerification: ModuleRule = module => {
  const { provider, secret } = module as { provider: string; secret: string }
  const sender = provider.toLowerCase()
  if (!webhookProviders.some(known => known === sender)) {
    fail('webhook_provider', { field: 'provider', value: provider, supported: webhookProviders.join(', ') })
  }
  if (sender === 'sns' && secret !== '') fail('webhook_no_secret', { field: 'secret' })
  if (sender !== 'sns' && secret === '') fail('webhook_secret', { field: 'secret', provider })
  const form = forms[sender]
  if (form && !form.pattern.test(secret))
    fail('webhook_secret_form', { field: 'secret', provider, form: form.text })
  if (sender === 'sendgrid' && !isPublicP256Key(secret)) fail('sendgrid_key', { field: 'secret' })
}

function isPublicP256Key(secret: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(secret, 'base64'), format: 'der', type: 'spki' })
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1'
  } catch {
    return false
  }
}
