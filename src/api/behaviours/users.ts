import type { ResourceHooks } from '#api/resource-hooks.ts'
import { administers, remainingAdmin } from '#api/behaviours/last-admin.ts'
import type { Call } from '#api/call.ts'
import { fail } from '#base/errors.ts'
import { user as kind } from '#contract/kinds/users.ts'
import type { Stored } from '#contract/shape.ts'
import type { Row } from '#store/store.ts'

type User = Stored<typeof kind.shape>

/** Rejects what would leave the server without an admin that has a key; returns the remaining one, with the key. */
const requireAnotherAdmin = async (id: string, action: string, call: Call): Promise<readonly Row[]> =>
  (await remainingAdmin({ withoutUser: id }, call)) ?? fail('last_admin', { action })

export const user: ResourceHooks = {
  async prepare(draft, call) {
    const body = draft.as(kind)
    const email = body.email.toLowerCase()
    draft.claim('user_email', email, { refusal: 'user_name_taken', field: 'email', shown: body.email })
    const was = draft.before as User | undefined
    if (!was || !administers(was) || administers(body)) return
    for (const row of await requireAnotherAdmin(draft.id, 'changing', call)) draft.reliedOn.set(row.id, row)
  },
  async remove({ row, body }, call) {
    if (row.id === call.principal.id) fail('own_user')
    return administers(body as User) ? requireAnotherAdmin(row.id, 'removing', call) : []
  },
}
