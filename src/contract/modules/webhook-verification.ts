import { module } from '#contract/kind.ts'
import { line } from '#contract/schema.ts'
import { input, required, secret } from '#contract/shape.ts'

export const webhookVerification = module({
  name: 'webhook_verification',
  doc: 'Allows only webhooks with a valid signature of their sender.',
  fields: {
    provider: required(
      input(
        line({ maxBytes: 64, missing: 'webhook_provider_missing' }),
        'The sender, such as GITHUB or STRIPE.',
      ),
    ),
    secret: secret(
      input(line({ maxBytes: 4096 }), 'The secret shared with the sender; none for SNS.'),
      'returned',
    ),
  },
})
