import type { ChallengeType } from '#acme/answers.ts'
import type { Row, Store, Write } from '#store/store.ts'

export const ORDERS = 'acme_order'
export const CHALLENGES = 'acme_challenge'

/** An order as it is kept. */
export interface OrderBody {
  readonly domain_id: string
  readonly domain: string
  readonly key_type: string
  readonly state: 'checking' | 'ordering' | 'proving' | 'finalizing' | 'waiting'
  /** How the names are being proven; null: as usual. */
  readonly challenge: ChallengeType | null
  /** Of the order at the authority. */
  readonly url: string | null
  /** Whose order that is; nobody else can use it. Absent in rows of older releases. */
  readonly account?: string | null
  /** The private key of the certificate to be, sealed. */
  readonly key: string | null
  /** RFC 3339, as are all times here. */
  readonly started_at: string
  /** Orders that failed, and looks at DNS in vain since the last of them. */
  readonly attempts: number
  readonly looks: number
  readonly next_try_at: string | null
  readonly error: string | null
  readonly lease: { readonly owner: string; readonly until: string } | null
}

/** What the gateway and the DNS server answer an authority with. */
export interface ChallengeBody {
  readonly type: ChallengeType
  /** Without the "*." of a wildcard. */
  readonly name: string
  readonly token: string
  readonly key_authorization: string
  readonly expires_at: string
  /** For dns-01: the name that is really asked for, at the end of the CNAME record. */
  readonly target?: string
}

/** A moment as orders keep it, to the millisecond. */
export const moment = (time: number): string => new Date(time).toISOString()

export const orderClaim = (domain: string) => ({ namespace: ORDERS, value: domain })

export const orderBody = (row: Row): OrderBody => JSON.parse(row.body) as OrderBody

/** An order that nobody has taken up for so long after it was due is nobody's. */
const LATE_MS = 600_000

/** Does a server work on an order for a name, or mean to? */
export async function isWorkedOn(store: Store, name: string, now: number): Promise<boolean> {
  const row = await store.holder(orderClaim(name))
  if (row === undefined) return false
  const { lease, next_try_at: nextTry } = orderBody(row)
  return [lease?.until, nextTry].some(at => at && Date.parse(at) + LATE_MS > now)
}

/** More than an order can have: each of its names needs one. */
const MOST_CHALLENGES = 1000

/** The writes that remove what proves the names of an order. */
export async function challengeRemovals(store: Store, orderId: string): Promise<Write[]> {
  const rows = await store.list(CHALLENGES, { parent: orderId, limit: MOST_CHALLENGES })
  return rows.map(({ id, version }) => ({ op: 'remove', id, version }))
}

/** Removes an order and all that belongs to it; nothing happens if somebody has changed it meanwhile. */
export async function removeOrder(store: Store, row: Pick<Row, 'id' | 'version'>): Promise<boolean> {
  const outcome = await store.commit([
    ...(await challengeRemovals(store, row.id)),
    { op: 'remove', id: row.id, version: row.version },
  ])
  return outcome.ok
}
