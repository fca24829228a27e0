import { newId } from '#base/ids.ts'
import { rowsOf } from '#store/rows-of.ts'
import type { Row, Store, Write } from '#store/store.ts'

/**
 * Passwords have rows of their own, which are not resources of the API: the gateway follows the rows of users, and does
 * not need them.
 */
const PASSWORD = 'dashboard_password'

interface PasswordBody {
  readonly user: string
  readonly hash: string
}

const claimOf = (user: string) => ({ namespace: PASSWORD, value: user })

const rowOf = (user: string, store: Store): Promise<Row | undefined> => store.holder(claimOf(user))

/** The hash of a user's password; undefined without one. */
export async function storedHash(user: string, store: Store): Promise<string | undefined> {
  const row = await rowOf(user, store)
  return row && (JSON.parse(row.body) as PasswordBody).hash
}

/** The write that sets or replaces a user's password. */
export async function passwordWrite(user: string, hash: string, store: Store): Promise<Write> {
  const known = await rowOf(user, store)
  const body: PasswordBody = { user, hash }
  const row = {
    id: known?.id ?? newId('dp'),
    kind: PASSWORD,
    parent: null,
    version: (known?.version ?? 0) + 1,
    body: JSON.stringify(body),
  }
  return { op: known ? 'update' : 'insert', entry: { row, refs: [], claims: [claimOf(user)] } }
}

/** Deletes passwords of users that no longer exist. */
export async function prunePasswords(store: Store): Promise<void> {
  for await (const row of rowsOf(store, PASSWORD)) {
    const { user } = JSON.parse(row.body) as PasswordBody
    if (!(await store.get(user))) await store.commit([{ op: 'remove', id: row.id, version: row.version }])
  }
}
