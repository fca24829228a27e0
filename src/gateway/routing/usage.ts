import type { UsageSeries } from '#http/request-context.ts'
import type { TunnelRecord } from '#registry/directory.ts'
import { textOf } from '#registry/records/keys.ts'
import type { SourceRow } from '#registry/records/source.ts'

/** Counters find a series by identity: all routes of an edge must have the same one. */
const ofRows = new WeakMap<SourceRow, UsageSeries>()

/** How requests at an edge, or at a reserved domain or address, are counted: names of edges can change. */
export function usageAt(row: SourceRow): UsageSeries {
  const known = ofRows.get(row)
  if (known !== undefined) return known
  const made: UsageSeries = {
    by: 'endpoint',
    name: row.id,
    owner: textOf(row, 'owner_id'),
    counts: undefined,
  }
  ofRows.set(row, made)
  return made
}

/** How those at a tunnel with its own address are counted: its id changes with every start of the agent. */
export const usageThrough = ({ url, ownerId }: TunnelRecord): UsageSeries => ({
  by: 'endpoint',
  name: url,
  owner: ownerId,
  counts: undefined,
})
