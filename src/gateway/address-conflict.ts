import { addressKey } from '#gateway/address-key.ts'
import type { Added, Conflict, TunnelRecord } from '#gateway/directory.ts'
import { plainId } from '#gateway/legs.ts'

function conflictOf(record: TunnelRecord, holder: TunnelRecord): Conflict | undefined {
  // Further connections of one agent share its addresses.
  if (record.address === undefined || holder.address === undefined) return undefined
  if (plainId(holder.id) === plainId(record.id)) return undefined
  if (addressKey(record.address) === addressKey(holder.address)) return 'taken'
  return record.ownerId === holder.ownerId ? undefined : 'other_owner'
}

/** Whether a tunnel can be listed beside those that hold the same port or name. The exact address is named first. */
export function admission(record: TunnelRecord, holders: Iterable<TunnelRecord>): Added {
  let refused: Added = { ok: true }
  for (const holder of holders) {
    const conflict = conflictOf(record, holder)
    if (conflict !== undefined && (refused.ok || conflict === 'taken'))
      refused = { ok: false, holder, conflict }
  }
  return refused
}
