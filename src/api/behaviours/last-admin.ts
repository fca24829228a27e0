import type { Call } from '#api/call.ts'
import { apiKey } from '#contract/kinds/api-key.ts'
import { user } from '#contract/kinds/users.ts'
import { rowsOf } from '#store/rows-of.ts'
import type { Row } from '#store/store.ts'

const PAGE = 100

export interface Role {
  readonly role: 'admin' | 'member'
  readonly active: boolean
}

export const administers = ({ role, active }: Role): boolean => role === 'admin' && active

interface Left {
  /** The user that is deleted, or loses its role. */
  readonly withoutUser?: string
  /** The API key that is deleted. */
  readonly withoutKey?: string
}

/** A remaining active admin with an API key, and that key; undefined when there is none. */
export async function remainingAdmin(
  { withoutUser, withoutKey }: Left,
  { store }: Pick<Call, 'store'>,
): Promise<readonly Row[] | undefined> {
  for await (const row of rowsOf(store, user.name, { pageSize: PAGE })) {
    if (row.id === withoutUser || !administers(JSON.parse(row.body) as Role)) continue
    const keys = await store.list(apiKey.name, { parent: row.id, limit: 2 })
    const key = keys.find(({ id }) => id !== withoutKey)
    if (key) return [row, key]
  }
  return undefined
}
