import { fail } from '#base/errors.ts'
import type { ProviderUser } from '#auth/providers/provider.ts'

/** Allowed users: those in any of these; everyone when all are empty. */
export interface AccessLists {
  readonly emails: readonly string[]
  readonly domains: readonly string[]
  readonly teams: readonly string[]
  readonly organizations: readonly string[]
}

const ADDRESS = /^[^\s@]+@([^\s@]+)$/

/** Only ASCII letters: the lower case of others may be one, such as the Kelvin sign's. */
export const lowerCase = (text: string): string => text.replace(/[A-Z]+/g, letters => letters.toLowerCase())

export const lowerSet = (texts: readonly string[]): ReadonlySet<string> => new Set(texts.map(lowerCase))

export const isOpen = (lists: AccessLists): boolean =>
  Object.values<readonly string[]>({ ...lists }).every(list => list.length === 0)

/** Decides about a provider's user; throws a Problem for one that is not allowed. */
export function accessCheck(title: string, lists: AccessLists): (user: ProviderUser) => void {
  if (isOpen(lists)) return () => undefined
  const emails = lowerSet(lists.emails)
  const domains = lowerSet(lists.domains)
  const asksEmail = emails.size + domains.size > 0

  return user => {
    if (user.member === true) return
    const address = lowerCase(user.email)
    const domain = ADDRESS.exec(address)?.[1]
    if (user.vouched && domain !== undefined && (emails.has(address) || domains.has(domain))) return
    const provider = title
    if (asksEmail && user.email === '') fail('oauth_email_missing', { provider })
    if (asksEmail && (!user.vouched || domain === undefined)) fail('oauth_email_unverified', { provider })
    fail('oauth_not_allowed', { provider, account: user.email || user.username || user.id })
  }
}
