import { createPublicKey } from 'node:crypto'
import type { ModuleRule } from '#api/modules/rule.ts'
import { fail } from '#base/errors.ts'
import { webhookProviders } from '#contract/modules/webhook-verification.ts'

export const checkWebhookVerification: ModuleRule = module => {
  const { provider, secret } = module as { provider: string; secret: string }
  const sender = provider.toLowerCase()
  if (!webhookProviders.some(known => known === sender)) {
    fail('webhook_provider', { field: 'provider', value: provider, supported: webhookProviders.join(', ') })
  }
  if (sender === 'sns' && secret !== '') fail('webhook_no_secret', { field: 'secret' })
  if (sender !== 'sns' && secret === '') fail('webhook_secret', { field: 'secret', provider })
  if (sender === 'sendgrid' && !isPublicEcKey(secret)) fail('sendgrid_key', { field: 'secret' })
}

function isPublicEcKey(secret: string): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(secret, 'base64'), format: 'der', type: 'spki' })
    return key.asymmetricKeyType === 'ec'
  } catch {
    return false
  }
}
