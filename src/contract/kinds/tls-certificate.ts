import { description, kind, metadata, owner } from '#contract/kind.ts'
import { line, listOf, moment, nullable, object, oneOf, text } from '#contract/schema.ts'
import { computed, immutable, hidden, input, internal, required } from '#contract/shape.ts'

const pem = { maxBytes: 65_536, refusals: { maxBytes: 'pem_too_big' as const } }

export const tlsCertificate = kind({
  name: 'tls_certificate',
  doc: 'A certificate with its private key, uploaded or issued.',
  prefix: 'cert',
  path: '/tls_certificates',
  listKey: 'tls_certificates',
  followedByGateway: true,
  inUse: 'certificate_in_use',
  fields: {
    description: description('certificate_description'),
    metadata: metadata('certificate_metadata'),
    owner_id: owner(),
    certificate_pem: required(
      immutable(input(text({ ...pem, missing: 'certificate_none' }), 'The chain in PEM, leaf first.')),
    ),
    private_key_pem: required(
      immutable(hidden(input(text({ ...pem, missing: 'certificate_no_key' }), 'The private key in PEM.'))),
    ),
    subject_common_name: computed(line()),
    subject_alternative_names: computed(object({ dns_names: listOf(line()), ips: listOf(line()) })),
    issued_at: computed(nullable(moment()), 'When it was issued automatically; null if uploaded.'),
    not_before: computed(moment()),
    not_after: computed(moment()),
    key_usages: computed(listOf(line())),
    extended_key_usages: computed(listOf(line())),
    private_key_type: computed(oneOf('rsa', 'ecdsa', 'ed25519')),
    issuer_common_name: computed(line()),
    serial_number: computed(line()),
    subject_organization: computed(line()),
    subject_organizational_unit: computed(line()),
    subject_locality: computed(line()),
    subject_province: computed(line()),
    subject_country: computed(line()),
    expiry_told: internal(),
  },
})
