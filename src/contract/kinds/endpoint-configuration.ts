import { captureFlag, description, kind, metadata, owner } from '#contract/kind.ts'
import { backend } from '#contract/modules/backend.ts'
import { basicAuth } from '#contract/modules/basic-auth.ts'
import { circuitBreaker } from '#contract/modules/circuit-breaker.ts'
import { compression } from '#contract/modules/compression.ts'
import { requestHeaders, responseHeaders } from '#contract/modules/headers.ts'
import { ipRestriction } from '#contract/modules/ip-restriction.ts'
import { mutualTls } from '#contract/modules/mutual-tls.ts'
import { oauth } from '#contract/modules/oauth.ts'
import { oidc } from '#contract/modules/oidc.ts'
import { saml } from '#contract/modules/saml.ts'
import { tlsTermination } from '#contract/modules/tls-termination.ts'
import { webhookVerification } from '#contract/modules/webhook-verification.ts'
import { also, oneOf } from '#contract/schema.ts'
import { immutable, required } from '#contract/shape.ts'

export const endpointConfiguration = kind({
  name: 'endpoint_configuration',
  doc: 'Modules for the endpoints of a reserved domain or address, without an edge.',
  prefix: 'ec',
  path: '/endpoint_configurations',
  listKey: 'endpoint_configurations',
  followedByGateway: true,
  inUse: 'config_in_use',
  fields: {
    type: required(
      immutable(also(oneOf('http', 'https', 'tcp'), { refusal: 'config_type', missing: 'config_type' })),
      'The protocol of its endpoints.',
    ),
    capture: captureFlag(),
    description: description(),
    metadata: metadata(),
    owner_id: owner(),
  },
  modules: {
    circuit_breaker: circuitBreaker,
    compression,
    request_headers: requestHeaders,
    response_headers: responseHeaders,
    ip_policy: ipRestriction,
    mutual_tls: mutualTls,
    tls_termination: tlsTermination,
    webhook_validation: webhookVerification,
    oauth,
    saml,
    oidc,
    basic_auth: basicAuth,
    backend,
  },
})
