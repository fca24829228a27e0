import { module } from '#contract/kind.ts'
import { refs, required } from '#contract/shape.ts'
import { certificateAuthorities } from '#contract/targets.ts'

export const mutualTls = module({
  name: 'mutual_tls',
  doc: 'Requires a client certificate from one of these CAs.',
  fields: {
    certificate_authorities: required(
      refs(certificateAuthorities, 'certificate_authority_ids', {
        min: 1,
        max: 10,
        tooFew: 'needs_ca',
        tooMany: 'too_many_cas',
      }),
    ),
  },
})
