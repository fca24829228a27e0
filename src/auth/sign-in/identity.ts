import { fail } from '#base/errors.ts'
import type { AuthResult } from '#auth/sign-in/sign-in.ts'
import type { UserIdentity } from '#http/identity.ts'

const MAX_ID = 512
const MAX_TEXT = 255
const CONTROL = /\p{Cc}/u
/** Of all headers together: with the rest they must fit into a cookie. */
const MAX_HEADERS = 2048

/**
 * A provider's user data, within bounds. An id is never truncated: two users would become one. Other values that are
 * too long are omitted.
 */
export function checkedIdentity(authResult: AuthResult): AuthResult {
  const { id, username, email, name, headers = {} } = authResult.identity
  if (id === '' || id.length > MAX_ID || CONTROL.test(id))
    fail('sign_in_unverified', { reason: 'it does not identify the user' })
  let room = MAX_HEADERS
  const kept = Object.entries(headers).filter(
    ([header, value]) => !CONTROL.test(value) && (room -= header.length + value.length) >= 0,
  )
  const identity: UserIdentity = {
    id,
    username: short(username),
    email: short(email),
    name: short(name),
    ...(kept.length > 0 && { headers: Object.fromEntries(kept) }),
  }
  return { ...authResult, identity }
}

const short = (text: string): string => (text.length <= MAX_TEXT && !CONTROL.test(text) ? text : '')
