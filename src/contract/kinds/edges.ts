import { description, kind, metadata, owner } from '#contract/kind.ts'
import { httpsEdgeRoute } from '#contract/kinds/https-edge-route.ts'
import { backend } from '#contract/modules/backend.ts'
import { ipRestriction } from '#contract/modules/ip-restriction.ts'
import { mutualTls } from '#contract/modules/mutual-tls.ts'
import { policy, trafficPolicy } from '#contract/modules/policy.ts'
import { tlsTermination, tlsTerminationAtEdge } from '#contract/modules/tls-termination.ts'
import { line, listOf } from '#contract/schema.ts'
import { readSchema } from '#contract/shape-schema.ts'
import { computed, optional } from '#contract/shape.ts'

const fields = {
  description: description('edge_description'),
  metadata: metadata('edge_metadata'),
  owner_id: owner(),
  hostports: optional(
    listOf(line({ maxBytes: 300, refusal: 'hostport_format' }), { maxItems: 100 }),
    'The host:port addresses that the edge serves.',
  ),
}

export const tcpEdge = kind({
  name: 'tcp_edge',
  doc: 'Serves TCP connections on its ports.',
  prefix: 'edgtcp',
  path: '/edges/tcp',
  listKey: 'tcp_edges',
  followedByGateway: true,
  inUse: 'edge_in_use',
  fields,
  modules: { backend, ip_restriction: ipRestriction, policy, traffic_policy: trafficPolicy },
})

export const tlsEdge = kind({
  name: 'tls_edge',
  doc: 'Serves TLS connections for its domains, selected by SNI.',
  prefix: 'edgtls',
  path: '/edges/tls',
  listKey: 'tls_edges',
  followedByGateway: true,
  inUse: 'edge_in_use',
  fields,
  modules: {
    backend,
    ip_restriction: ipRestriction,
    mutual_tls: mutualTls,
    tls_termination: tlsTermination,
    policy,
    traffic_policy: trafficPolicy,
  },
})

export const httpsEdge = kind({
  name: 'https_edge',
  doc: 'Serves HTTPS for its domains; its routes define how requests are handled.',
  prefix: 'edghts',
  path: '/edges/https',
  listKey: 'https_edges',
  followedByGateway: true,
  inUse: 'edge_in_use',
  fields: {
    ...fields,
    routes: computed(listOf(readSchema(httpsEdgeRoute.shape)), 'The routes of this edge.'),
  },
  modules: { mutual_tls: mutualTls, tls_termination: tlsTerminationAtEdge },
})
