import { createResource } from './each-store.ts'
import type { Caller } from './server.ts'

export interface Member {
  readonly user: { readonly id: string }
  /** An API key of the user. */
  readonly token: string
  readonly keyId: string
}

/** A new user with an API key. */
export async function newMember(api: Caller, role: 'admin' | 'member' = 'member'): Promise<Member> {
  const user = await createResource(api, '/users', {
    name: 'M',
    email: `m${Math.random()}@example.com`,
    role,
  })
  const key = await createResource(api, '/api_keys', { owner_id: user.id })
  return { user, token: String(key.token), keyId: String(key.id) }
}
