import { isDeepStrictEqual } from 'node:util'
import { addressKey } from '#registry/address-key.ts'
import type { Added, Conflict, TunnelRecord } from '#registry/directory.ts'
import { baseId } from '#registry/agent-connections.ts'

function conflictOf(record: TunnelRecord, holder: TunnelRecord): Conflict | undefined {
  // Further connections of one agent share its addresses.
  if (record.address === undefined || holder.address === undefined) return undefined
  if (baseId(holder.id) === baseId(record.id)) return undefined
  if (addressKey(record.address) === addressKey(holder.address)) return poolConflict(record, holder)
  return record.ownerId === holder.ownerId ? undefined : 'other_owner'
}

/** The members of a pool serve the same clients, so their access rules must be the same. */
function poolConflict(record: TunnelRecord, holder: TunnelRecord): Conflict | undefined {
  const isPool =
    record.pooling &&
    holder.pooling &&
    record.ownerId === holder.ownerId &&
    record.address?.scheme === holder.address?.scheme
  if (!isPool) return 'taken'
  return isDeepStrictEqual(guardsOf(record), guardsOf(holder)) ? undefined : 'pool_options'
}

const addressed = { URL: '', Domain: '', Hostname: '', Subdomain: '', Addr: '', LocalUrlScheme: '' }

/** The options without those that only locate the endpoint; as JSON, because messages differ in object types. */
const guardsOf = ({ options }: TunnelRecord): unknown =>
  JSON.parse(JSON.stringify({ ...options, ...addressed }))

/** Whether a tunnel may share the port or name of those that hold it. The exact address is checked first. */
export function admission(record: TunnelRecord, holders: Iterable<TunnelRecord>): Added {
  let refused: Added = { ok: true }
  for (const holder of holders) {
    const conflict = conflictOf(record, holder)
    if (conflict !== undefined && (refused.ok || conflict === 'taken'))
      refused = { ok: false, holder, conflict }
  }
  return refused
}
