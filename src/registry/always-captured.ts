import { endpointConfiguration } from '#contract/kinds/endpoint-configuration.ts'
import { httpsEdge } from '#contract/kinds/edges.ts'
import { httpsEdgeRoute } from '#contract/kinds/https-edge-route.ts'
import { baseId, primaryOnly } from '#registry/agent-connections.ts'
import type { Directory } from '#registry/directory.ts'
import { hostportsOf } from '#registry/records/keys.ts'
import type { Records } from '#registry/records/records.ts'

/** The rule that captures all requests of a route. */
export type CapturedBy = 'route' | 'configuration' | 'agent'

interface AlwaysCaptured {
  readonly by: CapturedBy
  readonly id: string
  /** Of a route. */
  readonly edgeId: string | null
  /** For people. */
  readonly name: string | null
  /** Empty if members share it. */
  readonly ownerId: string
}

/** Routes, endpoint configurations and tunnels whose requests are all captured. */
export function* alwaysCaptured(records: Records, { tunnels }: Directory): Generator<AlwaysCaptured> {
  for (const { id, body } of records.all(httpsEdgeRoute)) {
    if (body.capture !== true) continue
    const edge = records.get(httpsEdge, body.edge_id ?? '')
    const [host = ''] = edge ? hostportsOf(edge) : []
    const name = `${host.replace(/:443$/, '')}${body.match ?? ''}`
    yield { by: 'route', id, edgeId: edge?.id ?? null, name, ownerId: edge?.body.owner_id ?? '' }
  }
  for (const { id, body } of records.all(endpointConfiguration))
    if (body.capture === true)
      yield {
        by: 'configuration',
        id,
        edgeId: null,
        name: body.description || null,
        ownerId: body.owner_id ?? '',
      }
  for (const { id, url, ownerId, options } of primaryOnly(tunnels))
    if (options.Capture) yield { by: 'agent', id: baseId(id), edgeId: null, name: url || null, ownerId }
}
