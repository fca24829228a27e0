import { owners } from '#contract/targets.ts'
import { textOf } from '#registry/records/keys.ts'
import type { user } from '#contract/kinds/users.ts'
import type { RowOf, SourceRow } from '#registry/records/source.ts'

/** A user or bot, as needed for its credentials and resources. */
export interface Owner {
  readonly id: string
  readonly role: 'admin' | 'member'
  /** False: its credentials are rejected. */
  readonly active: boolean
  /** E-mail address of a user, name of a bot. */
  readonly subject: string
}

/** A resource without an owner is shared; any other is for credentials of its owner and of admins. */
export function mayUse(row: SourceRow, { id, role }: Pick<Owner, 'id' | 'role'>): boolean {
  const owner = textOf(row, 'owner_id')
  return owner === '' || owner === id || role === 'admin'
}

export function ownerOf(row: SourceRow | undefined): Owner | undefined {
  if (row === undefined || !owners.kinds.includes(row.kind)) return undefined
  // A bot has neither role nor e-mail address.
  const owner = row as RowOf<typeof user>
  return {
    id: row.id,
    role: owner.body.role === 'admin' ? 'admin' : 'member',
    active: owner.body.active === true,
    subject: textOf(owner, 'email') || textOf(owner, 'name'),
  }
}
