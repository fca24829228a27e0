import type { UsageSeries } from '#http/request-context.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import { textOf } from '#registry/records/keys.ts'
import type { SourceRow } from '#registry/records/source.ts'

/** How requests at an edge, or at a reserved domain or address, are counted: names of edges can change. */
export const usageAt = (row: SourceRow): UsageSeries => ({
  by: 'endpoint',
  name: row.id,
  owner: textOf(row, 'owner_id'),
})

/** How those at a tunnel with its own address are counted: its id changes with every start of the agent. */
export const usageThrough = ({ url, ownerId }: TunnelRecord): UsageSeries => ({
  by: 'endpoint',
  name: url,
  owner: ownerId,
})
