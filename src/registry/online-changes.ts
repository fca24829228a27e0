import { derivedId, randomPart } from '#base/ids.ts'
import { httpsEdge, tcpEdge, tlsEdge } from '#contract/kinds/edges.ts'
import type { onlineKinds } from '#contract/kinds/live.ts'
import type { Change } from '#contract/streams.ts'
import { anyConnection, baseId, otherConnections } from '#registry/agent-connections.ts'
import type { Directory, TunnelRecord } from '#registry/directory.ts'
import { hostportsOf } from '#registry/records/keys.ts'
import type { RecordChange, Records } from '#registry/records/records.ts'
import type { RowOf } from '#registry/records/source.ts'

export const edgeKinds = [httpsEdge, tlsEdge, tcpEdge] as const
export type EdgeRow = RowOf<(typeof edgeKinds)[number]>

export const tunnelEndpointId = (tunnel: TunnelRecord): string => `ep_${randomPart(baseId(tunnel.id))}`
export const edgeEndpointId = (edge: Pick<EdgeRow, 'id'>, hostport: string): string =>
  derivedId('ep', edge.id, hostport)

/** Reports what goes online and offline, as the management API names it; returns how to stop. */
export function watchOnline(
  { directory, records }: { readonly directory: Directory; readonly records: Records },
  seen: (change: Change) => void,
): () => void {
  const report = (kind: (typeof onlineKinds)[number], id: string, change: Change['change']): void =>
    seen({ kind, id, change })
  const reportTunnel = (tunnel: TunnelRecord, change: Change['change']): void => {
    report('tunnel', baseId(tunnel.id), change)
    if (tunnel.address !== undefined) report('endpoint', tunnelEndpointId(tunnel), change)
  }
  const unwatch = directory.watch({
    // Further connections of an agent change nothing, as long as it has one.
    sessionAdded: (session, isReplaced) => {
      if (otherConnections(directory.sessions, session).length === 0)
        report('tunnel_session', baseId(session.id), isReplaced ? 'updated' : 'created')
    },
    sessionRemoved: ({ id }) => {
      if (anyConnection(directory.sessions, baseId(id)) === undefined)
        report('tunnel_session', baseId(id), 'deleted')
    },
    added: tunnel => {
      if (otherConnections(directory.tunnels, tunnel).length === 0) reportTunnel(tunnel, 'created')
    },
    removed: tunnel => {
      if (anyConnection(directory.tunnels, baseId(tunnel.id)) === undefined) reportTunnel(tunnel, 'deleted')
    },
  })
  const unfollow = records.onChange(
    edgeKinds.map(({ name }) => name),
    change => {
      for (const [id, what] of changedEndpoints(change)) report('endpoint', id, what)
    },
  )
  return () => {
    unwatch()
    unfollow()
  }
}

/** An edge has an endpoint at each of its host ports. */
function* changedEndpoints({ before, after }: RecordChange): Generator<[id: string, Change['change']]> {
  const idsOf = (row: RecordChange['after']): Set<string> =>
    new Set(row && hostportsOf(row as EdgeRow).map(hostport => edgeEndpointId(row, hostport)))
  const [earlier, later] = [idsOf(before), idsOf(after)]
  for (const id of earlier.difference(later)) yield [id, 'deleted']
  for (const id of later) yield [id, earlier.has(id) ? 'updated' : 'created']
}
