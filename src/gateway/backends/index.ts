import { Problem } from '#base/errors.ts'
import { backendKinds } from '#contract/kinds/backends.ts'
import type { Backend, BackendParts, BuildBackend } from '#gateway/backends/backend.ts'
import { failoverBackend } from '#gateway/backends/failover.ts'
import { httpResponseBackend } from '#gateway/backends/http-response.ts'
import { staticBackend } from '#gateway/backends/static.ts'
import { tunnelGroupBackend } from '#gateway/backends/tunnel-group.ts'
import { weightedBackend } from '#gateway/backends/weighted.ts'
import type { SourceRow } from '#registry/records/source.ts'

const builders: Readonly<Record<keyof typeof backendKinds, BuildBackend>> = {
  failover_backends: failoverBackend,
  http_response_backends: httpResponseBackend,
  static_backends: staticBackend,
  tunnel_group_backends: tunnelGroupBackend,
  weighted_backends: weightedBackend,
}
const byKind: ReadonlyMap<string, BuildBackend> = new Map(
  Object.entries(backendKinds).map(([collection, { name }]) => [
    name,
    builders[collection as keyof typeof builders],
  ]),
)

/** Builds the backend of a record, and the backends that it refers to. Closing it closes those too. */
export function buildBackend(row: SourceRow, parts: BackendParts): Backend {
  const build = byKind.get(row.kind)
  if (build === undefined || !row.readable)
    throw new Problem('not_servable', { reason: 'its backend cannot be read' })
  return build(row, parts)
}
