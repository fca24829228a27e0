import { endpointConfiguration } from '#contract/kinds/endpoint-configuration.ts'
import { httpsEdge } from '#contract/kinds/edges.ts'
import { httpsEdgeRoute } from '#contract/kinds/https-edge-route.ts'
import { baseId, primaryOnly } from '#registry/agent-connections.ts'
import type { Directory } from '#registry/directory.ts'
import type { Records } from '#registry/records/records.ts'

/** What says that all requests of a route are captured. */
export type CapturedBy = 'route' | 'configuration' | 'agent'

interface AlwaysCaptured {
  readonly by: CapturedBy
  readonly id: string
  /** Empty if members share it. */
  readonly ownerId: string
}

/** Routes, endpoint configurations and tunnels whose requests are all captured. */
export function* alwaysCaptured(records: Records, { tunnels }: Directory): Generator<AlwaysCaptured> {
  for (const { id, body } of records.all(httpsEdgeRoute)) {
    if (body.capture !== true) continue
    const edge = records.get(httpsEdge, body.edge_id ?? '')
    yield { by: 'route', id, ownerId: edge?.body.owner_id ?? '' }
  }
  for (const { id, body } of records.all(endpointConfiguration))
    if (body.capture === true) yield { by: 'configuration', id, ownerId: body.owner_id ?? '' }
  for (const { id, ownerId, options } of primaryOnly(tunnels))
    if (options.Capture) yield { by: 'agent', id: baseId(id), ownerId }
}
