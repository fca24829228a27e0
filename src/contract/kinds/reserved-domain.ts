import { checkedDomain } from '#contract/domain-check.ts'
import { description, kind, metadata, owner } from '#contract/kind.ts'
import { certificateManagement, certificateStatus } from '#contract/kinds/certificate-management.ts'
import { line, listOf, nullable, object, oneOf } from '#contract/schema.ts'
import { computed, immutable, input, ref, omitWhenUnset, writeOnly } from '#contract/shape.ts'
import { nullableObject } from '#contract/shape-schema.ts'
import { regionField, regions } from '#contract/kinds/region.ts'
import { endpointConfigurations, tlsCertificates } from '#contract/targets.ts'

const name = (doc: string) => immutable(input(line({ maxBytes: 1024 }), doc))

export const reservedDomain = kind({
  name: 'reserved_domain',
  doc: 'A host name that only this account may serve.',
  prefix: 'rd',
  path: '/reserved_domains',
  listKey: 'reserved_domains',
  followedByGateway: true,
  event: 'domain',
  inUse: 'domain_in_use',
  actions: {
    check: {
      method: 'POST',
      path: '/check',
      doc: 'Looks up the DNS records of the domain now, and returns what is missing until it is served. If DNS is right, a certificate that waits for it is ordered at once.',
      output: checkedDomain,
    },
    delete_certificate: { method: 'DELETE', path: '/certificate', doc: 'Detaches the uploaded certificate.' },
    delete_certificate_management_policy: {
      method: 'DELETE',
      path: '/certificate_management_policy',
      doc: 'Disables automatic certificate management.',
    },
    delete_http_endpoint_configuration: {
      method: 'DELETE',
      path: '/http_endpoint_configuration',
      doc: 'Detaches the endpoint configuration for HTTP.',
    },
    delete_https_endpoint_configuration: {
      method: 'DELETE',
      path: '/https_endpoint_configuration',
      doc: 'Detaches the endpoint configuration for HTTPS.',
    },
  },
  fields: {
    description: description('domain_description'),
    metadata: metadata('domain_metadata'),
    owner_id: owner(),
    name: writeOnly(name('A full name, or one without a dot for that name under the shared domain.')),
    domain: name('The host name.'),
    region: immutable(regionField('domain_region')),
    cname_target: computed(
      nullable(line()),
      'Target of the CNAME record of a custom name; null under the shared domain.',
    ),
    http_endpoint_configuration: ref(endpointConfigurations, 'http_endpoint_configuration_id'),
    https_endpoint_configuration: ref(endpointConfigurations, 'https_endpoint_configuration_id'),
    certificate: ref(tlsCertificates, 'certificate_id', 'The certificate that is served.'),
    certificate_management_policy: nullableObject(
      certificateManagement,
      'How certificates are issued; null: none are issued.',
    ),
    certificate_management_status: computed(nullable(certificateStatus), 'Status of certificate issuance.'),
    resolves_to: omitWhenUnset(
      input(
        listOf(object({ value: oneOf(...regions, 'global') }), { maxItems: 8 }),
        'The regions that its DNS name resolves to. There is one server, so each of them means this server. Absent from responses while unset.',
      ),
    ),
    acme_challenge_cname_target: computed(
      nullable(line()),
      'Target of the CNAME record of _acme-challenge, for a custom wildcard.',
    ),
  },
})
