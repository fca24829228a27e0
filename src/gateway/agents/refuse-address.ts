import { fail } from '#base/errors.ts'
import type { Added, TunnelRecord } from '#registry/directory.ts'
import { baseId } from '#registry/agent-connections.ts'
import { addressText } from '#gateway/agents/acl.ts'

/** Rejects an address with the reason. The session that holds it is shown only to its own user. */
export function refuseAddress(
  record: TunnelRecord,
  { holder, conflict }: Added & { readonly ok: false },
): never {
  const { url, address } = record
  if (conflict === 'other_owner' && address !== undefined)
    fail('address_of_other', { address: addressText(address) })
  if (conflict === 'pool_options') fail('pool_options', { url })
  const where = holder.ownerId === record.ownerId ? `, on the session ${baseId(holder.sessionId)}` : ''
  return fail('address_taken', { url, where })
}
