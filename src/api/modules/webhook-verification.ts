import { createPublicKey } from 'node:crypto'
import { fail } from '#base/errors.ts'
import type { ResourceBody } from '#contract/body.ts'
import { secretForms, senders } from '#webhooks/senders.ts'

export function checkWebhookVerification(module: ResourceBody): void {
  const { provider, secret } = module as { provider: string; secret: string }
  const sender = provider.toLowerCase()
  if (!Object.hasOwn(senders, sender)) {
    const supported = Object.keys(senders).join(', ')
    fail('webhook_provider', { field: 'provider', value: provider, supported })
  }
  const form = secretForms[sender]
  if (form === 'none' && secret !== '') fail('webhook_no_secret', { field: 'secret' })
  if (form === 'none') return
  if (secret === '') fail('webhook_secret', { field: 'secret', provider })
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
