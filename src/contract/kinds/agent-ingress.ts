import { description, kind, metadata, owner } from '#contract/kind.ts'
import { certificateManagement, certificateStatus } from '#contract/kinds/certificate-management.ts'
import { line, listOf, nullable } from '#contract/schema.ts'
import { computed, immutable, idOf, input, internal, required } from '#contract/shape.ts'
import { nullableObject } from '#contract/shape-schema.ts'
import { tlsCertificates } from '#contract/targets.ts'

export const agentIngress = kind({
  name: 'agent_ingress',
  doc: 'Your own domain under which agents connect to the gateway.',
  prefix: 'agin',
  path: '/agent_ingresses',
  listKey: 'ingresses',
  followedByGateway: true,
  fields: {
    description: description('ingress_description'),
    metadata: metadata('ingress_metadata'),
    owner_id: owner(),
    domain: required(immutable(input(line({ maxBytes: 1024 }), 'A domain that you own.'))),
    ns_targets: computed(listOf(line()), 'The name servers to delegate the domain to.'),
    region_domains: computed(listOf(line()), 'The names that agents connect to.'),
    certificate_management_policy: nullableObject(
      certificateManagement,
      'How certificates are issued; null: none are issued.',
    ),
    certificate: idOf(tlsCertificates, internal()),
    certificate_management_status: computed(nullable(certificateStatus), 'Status of certificate issuance.'),
  },
})
