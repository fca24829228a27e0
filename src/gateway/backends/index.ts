import { Problem } from '#base/errors.ts'
import type { Backend, BackendParts, BuildBackend } from '#gateway/backends/backend.ts'
import { failoverBackend } from '#gateway/backends/failover.ts'
import { httpResponseBackend } from '#gateway/backends/http-response.ts'
import { staticBackend } from '#gateway/backends/static.ts'
import { tunnelGroupBackend } from '#gateway/backends/tunnel-group.ts'
import { weightedBackend } from '#gateway/backends/weighted.ts'
import type { SourceRow } from '#registry/records/source.ts'

const builders: Readonly<Record<string, BuildBackend>> = {
  tunnel_group_backend: tunnelGroupBackend,
  weighted_backend: weightedBackend,
  failover_backend: failoverBackend,
  static_backend: staticBackend,
  http_response_backend: httpResponseBackend,
}

/** Builds the backend of a record, and the backends that it refers to. Closing it closes those too. */
export function buildBackend(row: SourceRow, parts: BackendParts): Backend {
  const build = builders[row.kind]
  if (build === undefined || !row.readable)
    throw new Problem('not_servable', { reason: 'its backend cannot be read' })
  return build(row, parts)
}
