import { checkModuleLifecycle, type Fields } from '../lifecycle.ts'
import type { World } from '../world.ts'
import { secretText } from '../../../support/secrets.ts'
import type { Scenario, Scenarios } from './index.ts'

interface Module {
  readonly module: Fields
  readonly shown?: Fields
  readonly wire?: Fields
}

const rules = [
  {
    name: 'greet',
    expressions: ["req.Method == 'GET'"],
    actions: [{ type: 'add-headers', config: { headers: { 'X-Team': 'red' } } }],
  },
]

const policy = (): Module => ({
  module: { inbound: rules, outbound: [] },
  shown: {
    inbound: [{ ...rules[0], actions: [{ type: 'add-headers', config: { headers: { XTeam: 'red' } } }] }],
  },
  wire: { inbound: rules },
})

const backend = ({ backends: [id], ref }: World): Module => ({
  module: { backendId: id },
  shown: { backendId: undefined, backend: ref('/backends/http_response', id) },
})

const ipRestriction = ({ policies, ref }: World): Module => ({
  module: { ipPolicyIds: policies },
  shown: { ipPolicyIds: undefined, ipPolicies: policies.map(id => ref('/ip_policies', id)) },
})

const mutualTls = ({ authorityId, ref }: World): Module => ({
  module: { certificateAuthorityIds: [authorityId] },
  shown: {
    certificateAuthorityIds: undefined,
    certificateAuthorities: [ref('/certificate_authorities', authorityId)],
  },
})

const termination = (): Module => ({ module: { terminateAt: 'upstream' }, shown: { minVersion: null } })
const terminationAtEdge = (): Module => ({ module: { minVersion: '1.1' }, shown: { terminateAt: 'edge' } })

/** A module of a new edge, which may need something to be there before. */
const ofEdge =
  (path: string, name: string, describe: (world: World) => Module, edge: object = {}): Scenario =>
  async (trial, world) => {
    const { id, uri } = await world.make(path, edge)
    await checkModuleLifecycle(trial, world.api, { of: id, uri: `${uri}/${name}`, ...describe(world) })
  }

const [https, tcp, tls] = ['/edges/https', '/edges/tcp', '/edges/tls']

export const edgeModules: Scenarios = {
  HTTPSEdgeMutualTLSModule: ofEdge(https, 'mutual_tls', mutualTls),
  HTTPSEdgeTLSTerminationModule: ofEdge(https, 'tls_termination', terminationAtEdge),
  TCPEdgeBackendModule: ofEdge(tcp, 'backend', backend),
  TCPEdgeIPRestrictionModule: ofEdge(tcp, 'ip_restriction', ipRestriction),
  TCPEdgePolicyModule: ofEdge(tcp, 'policy', policy),
  TLSEdgeBackendModule: ofEdge(tls, 'backend', backend),
  TLSEdgeIPRestrictionModule: ofEdge(tls, 'ip_restriction', ipRestriction),
  TLSEdgeMutualTLSModule: ofEdge(tls, 'mutual_tls', mutualTls, { tls_termination: {} }),
  TLSEdgeTLSTerminationModule: ofEdge(tls, 'tls_termination', termination),
  TLSEdgePolicyModule: ofEdge(tls, 'policy', policy),
}

const signIn = { optionsPassthrough: true, cookiePrefix: 'x.', inactivityTimeout: 60, maximumDuration: 3600 }
const idpMetadata =
  '<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.compat.example"/>'

const routeModules: Record<string, readonly [name: string, describe: (world: World) => Module]> = {
  EdgeRouteBackendModule: ['backend', backend],
  EdgeRouteIPRestrictionModule: ['ip_restriction', ipRestriction],
  EdgeRoutePolicyModule: ['policy', policy],
  EdgeRouteCompressionModule: ['compression', () => ({ module: {} })],
  EdgeRouteWebsocketTCPConverterModule: ['websocket_tcp_converter', () => ({ module: {} })],
  EdgeRouteRequestHeadersModule: [
    'request_headers',
    () => ({
      module: { add: { 'X-Team': 'red' }, remove: ['cookie'] },
      shown: { add: { xTeam: 'red' } },
      wire: { add: { 'x-team': 'red' }, remove: ['cookie'] },
    }),
  ],
  EdgeRouteResponseHeadersModule: [
    'response_headers',
    () => ({
      module: { add: { 'Cache-Control': 'no-store' }, remove: ['server'] },
      shown: { add: { cacheControl: 'no-store' } },
      wire: { add: { 'cache-control': 'no-store' }, remove: ['server'] },
    }),
  ],
  EdgeRouteCircuitBreakerModule: [
    'circuit_breaker',
    () => ({
      module: {
        trippedDuration: 11,
        rollingWindow: 12,
        numBuckets: 13,
        volumeThreshold: 14,
        errorThresholdPercentage: 0.25,
      },
    }),
  ],
  EdgeRouteWebhookVerificationModule: [
    'webhook_verification',
    () => ({ module: { provider: 'GITHUB', secret: secretText('webhook') } }),
  ],
  EdgeRouteUserAgentFilterModule: [
    'user_agent_filter',
    () => ({ module: { allow: ['^Good'], deny: ['(?i:bad)', 'Evil.*'] } }),
  ],
  EdgeRouteOAuthModule: [
    'oauth',
    () => {
      const github = {
        clientId: 'id',
        clientSecret: secretText('client'),
        teams: ['acme/red'],
        scopes: ['read:org'],
      }
      return { module: { ...signIn, authCheckInterval: 600, provider: { github } } }
    },
  ],
  EdgeRouteOIDCModule: [
    'oidc',
    () => ({
      module: {
        ...signIn,
        issuer: 'https://id.compat.example',
        clientId: 'id',
        clientSecret: secretText('client'),
        scopes: ['openid', 'email'],
      },
    }),
  ],
  EdgeRouteSAMLModule: [
    'saml',
    () => ({
      module: {
        ...signIn,
        idpMetadata,
        forceAuthn: true,
        allowIdpInitiated: false,
        authorizedGroups: ['red'],
      },
    }),
  ],
}

/** A module of a new route. */
export const routeModuleScenarios: Scenarios = Object.fromEntries(
  Object.entries(routeModules).map(([service, [name, describe]]): [string, Scenario] => [
    service,
    async (trial, world) => {
      const edge = await world.make('/edges/https')
      const route = await world.make(`/edges/https/${edge.id}/routes`, {
        match_type: 'path_prefix',
        match: '/',
      })
      const of = { edgeId: edge.id, id: route.id }
      await checkModuleLifecycle(trial, world.api, { of, uri: `${route.uri}/${name}`, ...describe(world) })
    },
  ]),
)
