import { hostname } from 'node:os'
import type { ResourceBody } from '#contract/body.ts'
import { fail } from '#base/errors.ts'
import { newId, timestamp } from '#base/ids.ts'
import { pageByIdDesc } from '#base/page-by-id.ts'
import type { GatewayHandle } from '#cluster/gateway-handle.ts'
import type { Cluster } from '#cluster/nodes/cluster.ts'
import type { NodeAddresses } from '#domains/dns.ts'
import type { ShownZone } from '#domains/shown-zones.ts'
import type { ClusterNode } from '#cluster/nodes/membership.ts'
import type { LivePart, LiveSource } from '#server/combined-live.ts'

export interface NodesOptions {
  readonly cluster: Cluster | undefined
  readonly gateway: Pick<GatewayHandle, 'live' | 'clientConnections'>
  readonly version: string
  readonly region: string
  readonly publicAddresses: readonly string[]
  /** The zones that its DNS server serves. */
  readonly zones: () => readonly ShownZone[]
}

type ShownNode = ResourceBody & { readonly id: string }

/** The nodes of the cluster and the zones of this node's DNS server. */
export function nodesPart(options: NodesOptions): LivePart {
  const { cluster, zones } = options
  return {
    sources: {
      node: sourceOf(cluster ? () => clusterNodes(cluster) : loneNode(options)),
      dns_zone: sourceOf(zones),
    },
    commands: {
      drain: async id => {
        if (cluster === undefined) fail('node_alone')
        if (!(await cluster.membership.drain(id))) fail('node_not_live', { id })
      },
    },
  }
}

const sourceOf = (items: () => readonly (ShownNode | ShownZone)[]): LiveSource => ({
  get: async id => items().find(each => each.id === id),
  list: async page => pageByIdDesc(items(), ({ id }) => id, page),
})

const shown = ({
  id,
  name,
  state,
  version,
  region,
  startedAt,
  peer,
  publicAddresses,
  leaseAgeMs,
}: ClusterNode) => ({
  id,
  name,
  state,
  version,
  region,
  started_at: startedAt,
  peer_address: peer,
  public_addresses: publicAddresses,
  lease_age_ms: leaseAgeMs,
})

const clusterNodes = ({ membership, directory }: Cluster): ShownNode[] =>
  [...membership.nodes.values()].map(node => ({
    ...shown(node),
    ...directory.countsOf(node.id),
    clients: node.clients,
  }))

function loneNode({ gateway, version, region, publicAddresses }: NodesOptions): () => ShownNode[] {
  const now = Date.now()
  const fixed = {
    id: newId('nd', now),
    name: hostname(),
    state: 'live' as const,
    version,
    region,
    started_at: timestamp(now),
    peer_address: null,
    public_addresses: publicAddresses,
    lease_age_ms: null,
  }
  return () => {
    const { agents, tunnels } = gateway.live.online()
    return [{ ...fixed, agents, tunnels, clients: gateway.clientConnections() }]
  }
}

/** The public addresses of the nodes that serve, for DNS. */
export const nodeAddresses = ({ membership }: Cluster): NodeAddresses => ({
  current: () => membership.serving.flatMap(({ publicAddresses }) => publicAddresses),
  watch: changed => membership.watch(changed),
})
