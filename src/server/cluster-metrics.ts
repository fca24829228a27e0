import type { Registry } from '#base/metrics.ts'
import type { Cluster } from '#cluster/nodes/cluster.ts'
import type { Membership } from '#cluster/nodes/membership.ts'

/** What the metrics need of a cluster. */
export interface MeasuredCluster extends Pick<Cluster, 'node'> {
  readonly peers: Pick<Cluster['peers'], 'links' | 'forwards'>
  readonly membership: {
    readonly nodes: ReadonlyMap<string, { readonly state: Membership['serving'][number]['state'] }>
  } & Pick<Membership, 'leaseAgeMs' | 'isDraining'>
  readonly directory: Pick<Cluster['directory'], 'countsOf'>
}

const STATES = ['live', 'draining', 'expired'] as const

/**
 * Declares the metrics of a cluster. Values of one node have its id as a label: an agent is connected to several nodes,
 * so their sum is not the number of agents. `adit_cluster_nodes` is this node's view, and the same everywhere.
 */
export function declareClusterMetrics(
  registry: Registry,
  cluster: MeasuredCluster,
  clients: () => number,
): void {
  const { membership, directory, peers, node } = cluster
  const nodes = registry.gauges('adit_cluster_nodes', 'Nodes of the cluster, by state.', ['state'], 'max')
  for (const state of STATES)
    nodes.with(state).from(() => [...membership.nodes.values()].filter(each => each.state === state).length)
  const own = (name: string, help: string, value: () => number): void =>
    registry.gauges(name, help, ['node']).with(node).from(value)
  const here = () => directory.countsOf(node)
  own('adit_node_agents', 'Connections of agents to this node; an agent has several.', () => here().agents)
  own('adit_node_tunnels', 'Tunnels through those connections.', () => here().tunnels)
  own('adit_node_clients', 'Connections of clients to this node.', clients)
  own('adit_node_lease_age_seconds', 'Since this node last renewed its lease.', () =>
    Math.max(0, membership.leaseAgeMs / 1000),
  )
  own('adit_node_draining', '1 while this node drains.', () => Number(membership.isDraining))
  own('adit_node_peer_links', 'Links with other nodes, in both directions.', () => peers.links)
  const forwards = registry.counters(
    'adit_cluster_forwards_total',
    'Client connections forwarded to the node of their agent, by result.',
    ['result'],
  )
  for (const result of ['connected', 'failed'] as const)
    forwards.with(result).from(() => peers.forwards[result])
}
