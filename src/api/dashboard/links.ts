import { newId, newToken } from '#base/ids.ts'
import { sameText, tokenHash } from '#base/secrets.ts'
import { CONFLICT, retryOnConflict } from '#store/optimistic.ts'
import type { Row, Store } from '#store/store.ts'

/** The kind of row, and the namespace of its claim. Links are not resources of the API. */
const LINK = 'dashboard_link'
const lifetimes = { sign_in: 15 * 60_000, invitation: 3 * 24 * 3_600_000 } as const
/** Unused links of all users; further ones replace the oldest. */
const MAX_LINKS = 1000

/** A link signs in, or sets a password. */
type LinkPurpose = keyof typeof lifetimes

interface LinkBody {
  readonly purpose: LinkPurpose
  readonly token_hash: string
  readonly user: string
  readonly api_key: string | null
  readonly expires: number
}

interface Link {
  readonly row: Row
  /** The user that it signs in. */
  readonly user: string
  /** The API key that made it. */
  readonly apiKey: string | null
}

interface Clock {
  readonly store: Store
  readonly now: () => number
}

const bodyOf = (row: Row): LinkBody => JSON.parse(row.body) as LinkBody

/** Makes a link for a user; the token is not stored. */
export function newLink(
  { store, now }: Clock,
  { purpose, user, apiKey }: Pick<Link, 'user' | 'apiKey'> & { readonly purpose: LinkPurpose },
): Promise<{ token: string; expires: number }> {
  const attempt = async () => {
    const id = newId('dl', now())
    const token = newToken(id)
    const expires = now() + lifetimes[purpose]
    const hash = tokenHash(token)
    const body: LinkBody = { token_hash: hash, purpose, user, api_key: apiKey, expires }
    const row = { id, kind: LINK, parent: null, version: 1, body: JSON.stringify(body) }
    const rows = await store.list(LINK, { limit: MAX_LINKS + 1 })
    const useless = rows.filter((each, index) => index >= MAX_LINKS - 1 || bodyOf(each).expires <= now())
    const outcome = await store.commit([
      ...useless.map(each => ({ op: 'remove' as const, id: each.id, version: each.version })),
      { op: 'insert', entry: { row, refs: [], claims: [{ namespace: LINK, value: hash }] } },
    ])
    return outcome.ok ? { token, expires } : CONFLICT
  }
  return retryOnConflict(attempt, () => {
    throw new Error('A sign-in link could not be saved: others are made all the time.')
  })
}

/** The link with this token, if it can still be used for this purpose. */
export async function findLink(
  token: string,
  wanted: LinkPurpose,
  { store, now }: Clock,
): Promise<Link | undefined> {
  const hash = tokenHash(token)
  const row = await store.holder({ namespace: LINK, value: hash })
  if (row?.kind !== LINK) return undefined
  const { token_hash: stored, purpose, user, api_key: apiKey, expires } = bodyOf(row)
  return sameText(hash, stored) && purpose === wanted && expires > now() ? { row, user, apiKey } : undefined
}

/** Where a browser uses a link. The fragment is not sent, so that no log has the token. */
export const linkUrl = (base: string, token: string): string => `${base}/dashboard/login#token=${token}`

/** The same for a link that sets a password. */
export const invitationUrl = (base: string, token: string): string =>
  `${base}/dashboard/invitation#token=${token}`
