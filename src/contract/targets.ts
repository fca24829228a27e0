import type { ReferenceTarget } from '#contract/shape.ts'

/** The possible targets of references, with their errors. */
export const ipPolicies: ReferenceTarget = {
  kinds: ['ip_policy'],
  wrong: 'bad_policy_id',
  missing: 'edge_ip_policy_missing',
}
export const restrictionPolicies: ReferenceTarget = { ...ipPolicies, missing: 'restriction_policy' }
export const rulePolicy: ReferenceTarget = {
  ...ipPolicies,
  wrong: 'bad_ip_policy_id',
  missing: 'ip_policy_missing',
}
export const certificateAuthorities: ReferenceTarget = {
  kinds: ['certificate_authority'],
  wrong: 'bad_ca_id',
  missing: 'ca_missing',
}
export const tlsCertificates: ReferenceTarget = {
  kinds: ['tls_certificate'],
  wrong: 'bad_reference',
  missing: 'certificate_missing',
}
export const endpointConfigurations: ReferenceTarget = {
  kinds: ['endpoint_configuration'],
  wrong: 'bad_reference',
  missing: 'reference_missing',
}
export const sshAuthorities: ReferenceTarget = {
  kinds: ['ssh_certificate_authority'],
  wrong: 'bad_reference',
  missing: 'ssh_ca_missing',
}
export const eventDestinations: ReferenceTarget = {
  kinds: ['event_destination'],
  wrong: 'bad_reference',
  missing: 'destination_missing',
}
export const owners: ReferenceTarget = {
  kinds: ['user', 'bot_user', 'service_user'],
  wrong: 'owner_missing',
  missing: 'owner_missing',
}
