import type { Behaviour } from '#api/behaviour.ts'
import type { Call } from '#api/call.ts'
import { fail } from '#base/errors.ts'
import { user as kind } from '#contract/kinds/users.ts'
import type { Kept } from '#contract/shape.ts'
import type { Draft } from '#api/draft.ts'

type User = Kept<typeof kind.shape>

const administers = (user: Pick<User, 'role' | 'active'>): boolean => user.role === 'admin' && user.active

/** Refuses to leave the server without anybody who can administer it. */
async function requireAnotherAdmin(id: string, action: string, call: Call, draft?: Draft): Promise<void> {
  for (let before: string | undefined; ;) {
    const rows = await call.store.list(kind.name, { limit: 100, ...(before !== undefined && { before }) })
    const other = rows.find(row => row.id !== id && administers(JSON.parse(row.body) as User))
    if (other) {
      draft?.reliedOn.set(other.id, other)
      return
    }
    before = rows.at(-1)?.id
    if (rows.length < 100) fail('last_admin', { action })
  }
}

export const user: Behaviour = {
  async prepare(draft, call) {
    const body = draft.as(kind)
    const email = body.email.toLowerCase()
    draft.claim('user_email', email, { refusal: 'user_name_taken', field: 'email', shown: body.email })
    const was = draft.before as User | undefined
    if (was && administers(was) && !administers(body))
      await requireAnotherAdmin(draft.id, 'changing', call, draft)
  },
  async remove({ row, body }, call) {
    if (row.id === call.principal.id) fail('own_user')
    if (administers(body as User)) await requireAnotherAdmin(row.id, 'removing', call)
  },
}
