import type { Call } from '#api/call.ts'
import type { OpenIdUser, Roles } from '#api/dashboard/openid-provider.ts'
import { create, update } from '#api/writing.ts'
import { fail } from '#base/errors.ts'
import { user } from '#contract/kinds/users.ts'
import type { Stored } from '#contract/shape.ts'
import type { Row } from '#store/store.ts'

const MAX_NAME = 255

/** The role that the user's groups give; undefined where roles are set here. */
function roleOf(groups: readonly string[], roles: Roles | undefined): 'admin' | 'member' | undefined {
  if (!roles) return undefined
  const given = groups.flatMap(group => roles.get(group) ?? [])
  if (given.length === 0) fail('openid_no_role')
  return given.includes('admin') ? 'admin' : 'member'
}

/** The user with the provider's address, with the role of its groups; created at the first sign-in. */
export async function openIdUser(
  { identity, groups = [] }: OpenIdUser,
  roles: Roles | undefined,
  call: Call,
): Promise<Row> {
  const role = roleOf(groups, roles)
  const email = identity.email.toLowerCase()
  const known = await call.store.holder({ namespace: 'user_email', value: email })
  if (!known) {
    const name = identity.name.slice(0, MAX_NAME) || email
    const made = await create(user, { name, email, role: role ?? 'member' }, null, call)
    return (await call.store.get(String(made['id']))) ?? fail('not_found')
  }
  const body = JSON.parse(known.body) as Stored<typeof user.shape>
  if (!body.active) fail('sign_in_rejected')
  if (role === undefined || role === body.role) return known
  await update({ kind: user, id: known.id, parent: null }, { role }, call)
  return (await call.store.get(known.id)) ?? fail('not_found')
}
