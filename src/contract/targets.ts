import type { Target } from '#contract/shape.ts'

/** The possible targets of references, with their errors. */
export const backends: Target = {
  kinds: [
    'failover_backend',
    'http_response_backend',
    'static_backend',
    'tunnel_group_backend',
    'weighted_backend',
  ],
  wrong: 'bad_backend_id',
  missing: 'backend_child_missing',
}
export const ipPolicies: Target = {
  kinds: ['ip_policy'],
  wrong: 'bad_policy_id',
  missing: 'edge_ip_policy_missing',
}
export const restrictionPolicies: Target = { ...ipPolicies, missing: 'restriction_policy' }
export const rulePolicy: Target = { ...ipPolicies, wrong: 'bad_ip_policy_id', missing: 'ip_policy_missing' }
export const certificateAuthorities: Target = {
  kinds: ['certificate_authority'],
  wrong: 'bad_ca_id',
  missing: 'ca_missing',
}
export const tlsCertificates: Target = {
  kinds: ['tls_certificate'],
  wrong: 'bad_reference',
  missing: 'certificate_missing',
}
export const endpointConfigurations: Target = {
  kinds: ['endpoint_configuration'],
  wrong: 'bad_reference',
  missing: 'reference_missing',
}
export const sshAuthorities: Target = {
  kinds: ['ssh_certificate_authority'],
  wrong: 'bad_reference',
  missing: 'ssh_ca_missing',
}
export const eventDestinations: Target = {
  kinds: ['event_destination'],
  wrong: 'bad_reference',
  missing: 'destination_missing',
}
export const owners: Target = {
  kinds: ['user', 'bot_user', 'service_user'],
  wrong: 'owner_missing',
  missing: 'owner_missing',
}
