import type { ChallengeType } from '#acme/answers.ts'
import type { Row, Store, Write } from '#store/store.ts'

export const ORDERS = 'acme_order'
export const CHALLENGES = 'acme_challenge'

/** A stored order. */
export interface OrderBody {
  readonly domain_id: string
  readonly domain: string
  readonly key_type: string
  readonly state: 'checking' | 'ordering' | 'proving' | 'finalizing' | 'waiting'
  /** The challenge type in use; null: the default. */
  readonly challenge: ChallengeType | null
  /** Of the order at the authority. */
  readonly url: string | null
  /** The account of the order; no other can use it. Absent in rows of older releases. */
  readonly account?: string | null
  /** The private key of the new certificate, encrypted. */
  readonly key: string | null
  /** RFC 3339, as are all times here. */
  readonly started_at: string
  /** Failed orders, and failed DNS checks since the last of them. */
  readonly attempts: number
  readonly looks: number
  readonly next_try_at: string | null
  readonly error: string | null
  readonly lease: { readonly owner: string; readonly until: string } | null
}

/** The challenge responses for the gateway and the DNS server. */
export interface ChallengeBody {
  readonly type: ChallengeType
  /** Without the "*." of a wildcard. */
  readonly name: string
  readonly token: string
  readonly key_authorization: string
  readonly expires_at: string
  /** For dns-01: the name that is really queried, at the end of the CNAME record. */
  readonly target?: string
}

/** A moment as orders keep it, to the millisecond. */
export const moment = (time: number): string => new Date(time).toISOString()

export const orderClaim = (domain: string) => ({ namespace: ORDERS, value: domain })

export const orderBody = (row: Row): OrderBody => JSON.parse(row.body) as OrderBody

/** An order that no process has taken for so long after it was due is abandoned. */
const LATE_MS = 600_000

/** Whether a server works on an order for a name, or will. */
export async function isWorkedOn(store: Store, name: string, now: number): Promise<boolean> {
  const row = await store.holder(orderClaim(name))
  if (row === undefined) return false
  const { lease, next_try_at: nextTry } = orderBody(row)
  return [lease?.until, nextTry].some(at => at && Date.parse(at) + LATE_MS > now)
}

/** More than an order can have: each of its names needs one. */
const MOST_CHALLENGES = 1000

/** The writes that delete the challenges of an order. */
export async function challengeRemovals(store: Store, orderId: string): Promise<Write[]> {
  const rows = await store.list(CHALLENGES, { parent: orderId, limit: MOST_CHALLENGES })
  return rows.map(({ id, version }) => ({ op: 'remove', id, version }))
}

/** Deletes an order and its challenges; nothing happens if it was changed meanwhile. */
export async function removeOrder(store: Store, row: Pick<Row, 'id' | 'version'>): Promise<boolean> {
  const outcome = await store.commit([
    ...(await challengeRemovals(store, row.id)),
    { op: 'remove', id: row.id, version: row.version },
  ])
  return outcome.ok
}
