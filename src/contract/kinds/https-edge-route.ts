import { captureFlag, description, kind, metadata } from '#contract/kind.ts'
import { backend } from '#contract/modules/backend.ts'
import { circuitBreaker } from '#contract/modules/circuit-breaker.ts'
import { compression } from '#contract/modules/compression.ts'
import { requestHeaders, responseHeaders } from '#contract/modules/headers.ts'
import { ipRestriction } from '#contract/modules/ip-restriction.ts'
import { oauth } from '#contract/modules/oauth.ts'
import { oidc } from '#contract/modules/oidc.ts'
import { policy, trafficPolicy } from '#contract/modules/policy.ts'
import { saml } from '#contract/modules/saml.ts'
import { userAgentFilter } from '#contract/modules/user-agent-filter.ts'
import { webhookVerification } from '#contract/modules/webhook-verification.ts'
import { websocketTcpConverter } from '#contract/modules/websocket-tcp-converter.ts'
import { also, flag, line, oneOf } from '#contract/schema.ts'
import { addedLater, computed, input, required } from '#contract/shape.ts'

export const httpsEdgeRoute = kind({
  name: 'https_edge_route',
  doc: 'How an HTTPS edge handles matching requests.',
  prefix: 'edghtsrt',
  path: '/edges/https/{edge_id}/routes',
  listKey: 'routes',
  followedByGateway: true,
  parent: { kind: 'https_edge', param: 'edge_id' },
  fields: {
    edge_id: computed(line(), 'The edge this route belongs to.'),
    match_type: required(
      also(oneOf('exact_path', 'path_prefix'), { refusal: 'match_type', missing: 'match_type' }),
      'How "match" is compared with the path.',
    ),
    match: required(
      input(
        line({
          minLength: 1,
          maxBytes: 2048,
          missing: 'match_required',
          refusals: { minLength: 'match_required', maxBytes: 'match_length' },
        }),
      ),
      'A path, a host name, or a host name and a path.',
    ),
    normalize_path: addedLater(
      input(
        flag(true),
        'Normalize dots, double slashes and unnecessary escapes in the path before it is compared and forwarded; a trailing slash does not matter to an exact path. False: the path is compared and forwarded unchanged, as in routes created before this option existed.',
      ),
      false,
    ),
    capture: captureFlag(),
    description: description('edge_description'),
    metadata: metadata('edge_metadata'),
  },
  modules: {
    backend,
    ip_restriction: ipRestriction,
    circuit_breaker: circuitBreaker,
    compression,
    request_headers: requestHeaders,
    response_headers: responseHeaders,
    webhook_verification: webhookVerification,
    oauth,
    saml,
    oidc,
    websocket_tcp_converter: websocketTcpConverter,
    user_agent_filter: userAgentFilter,
    policy,
    traffic_policy: trafficPolicy,
  },
})
