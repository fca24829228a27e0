import type { Credential } from '#registry/records/credentials.ts'

/** The credential of a public key, or why there is none. */
export type KeyMatch =
  { readonly credentialId: string } | { readonly refused: 'unknown_key' | 'ambiguous_key' | 'owner_inactive' }

export interface KeyHolder extends Credential {
  /** E-mail address or name of the owner. */
  readonly subject: string
}

/** A user name that identifies one credential or owner. */
const isSelector = (user: string): boolean => /^(cr|sshcr|usr|bot|service)_/.test(user) || user.includes('@')

const isNamed = (user: string, { id, ownerId, subject }: KeyHolder): boolean =>
  user === id || user === ownerId || (subject !== '' && user.toLowerCase() === subject.toLowerCase())

/**
 * Anyone can register a public key, so several owners may have registered the same one. The client's user name selects
 * the credential; without it a key of several owners matches none.
 */
export function matchKey(user: string, holders: readonly KeyHolder[]): KeyMatch {
  const named = holders.filter(holder => isNamed(user, holder))
  const meant = named.length > 0 || isSelector(user) ? named : holders
  const [first] = meant.toSorted((one, other) => (one.id < other.id ? -1 : 1))
  if (first === undefined) return { refused: 'unknown_key' }
  if (meant.some(({ ownerId }) => ownerId !== first.ownerId)) return { refused: 'ambiguous_key' }
  return first.active ? { credentialId: first.id } : { refused: 'owner_inactive' }
}
