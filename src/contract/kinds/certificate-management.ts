import { also, line, moment, nullable, object, oneOf } from '#contract/schema.ts'
import { input, required } from '#contract/shape.ts'

/** How certificates for a name are issued. */
export const certificateManagement = {
  authority: required(
    also(oneOf('letsencrypt'), {
      refusal: 'certificate_authority_name',
      missing: 'certificate_authority_name',
    }),
    'The CA that issues them.',
  ),
  private_key_type: input(
    also(oneOf('rsa', 'ecdsa'), { default: 'rsa', refusal: 'certificate_key_type' }),
    'The type of private key.',
  ),
}

export const certificateStatus = object({
  renews_at: nullable(moment()),
  provisioning_job: nullable(
    object({
      error_code: nullable(oneOf('INTERNAL_ERROR', 'DNS_ERROR')),
      msg: line(),
      started_at: moment(),
      retries_at: nullable(moment()),
    }),
  ),
})
