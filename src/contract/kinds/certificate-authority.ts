import { description, kind, metadata, owner } from '#contract/kind.ts'
import { line, listOf, moment, text } from '#contract/schema.ts'
import { computed, immutable, input, required } from '#contract/shape.ts'

export const certificateAuthority = kind({
  name: 'certificate_authority',
  doc: 'A CA whose client certificates mutual TLS accepts.',
  prefix: 'ca',
  path: '/certificate_authorities',
  listKey: 'certificate_authorities',
  followedByGateway: true,
  inUse: 'ca_in_use',
  commonUse: true,
  fields: {
    description: description('authority_description'),
    metadata: metadata('authority_metadata'),
    owner_id: owner(),
    ca_pem: required(
      immutable(
        input(
          text({ maxBytes: 65_536, missing: 'certificate_none', refusals: { maxBytes: 'pem_too_big' } }),
          'The CA certificate in PEM.',
        ),
      ),
    ),
    subject_common_name: computed(line()),
    not_before: computed(moment()),
    not_after: computed(moment()),
    key_usages: computed(listOf(line())),
    extended_key_usages: computed(listOf(line())),
  },
})
