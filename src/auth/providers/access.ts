import { fail } from '#base/errors.ts'
import type { Found } from '#auth/providers/provider.ts'

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
export function gate(title: string, lists: AccessLists): (found: Found) => void {
  if (isOpen(lists)) return () => undefined
  const emails = lowerSet(lists.emails)
  const domains = lowerSet(lists.domains)
  const asksEmail = emails.size + domains.size > 0

  return found => {
    if (found.member === true) return
    const address = lowerCase(found.email)
    const domain = ADDRESS.exec(address)?.[1]
    if (found.vouched && domain !== undefined && (emails.has(address) || domains.has(domain))) return
    const provider = title
    if (asksEmail && found.email === '') fail('oauth_email_missing', { provider })
    if (asksEmail && (!found.vouched || domain === undefined)) fail('oauth_email_unverified', { provider })
    fail('oauth_not_allowed', { provider, account: found.email || found.username || found.id })
  }
}
