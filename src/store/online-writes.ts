import { query, type Steps } from '#store/engine.ts'
import type { NodeRow, OnlineOutcome, OnlineWrite, TunnelClaim } from '#base/node-store.ts'
import { StoreError } from '#store/store-error.ts'

export const ONLINE_CHANNEL = 'adit_online'
/** The payload when only sessions and tunnels have changed, not the nodes; of an earlier version there is none. */
export const DIRECTORY_CHANGED = 'directory'

const LIVE = 'node.id = them.node AND node.epoch = them.epoch AND node.lease_until > clock_timestamp()'
const AMONG = '= ANY (ARRAY(SELECT json_array_elements_text($1::json)))'

/** All writers take this lock first, so that changes are numbered in the order of their commits. */
const LOCK = `SELECT incarnation, sequence, set_config('synchronous_commit', 'off', true)
  FROM online_state WHERE id = 1 FOR UPDATE`
const CREATE = `INSERT INTO online_state (id, incarnation, sequence)
  VALUES (1, gen_random_uuid()::text, 0) ON CONFLICT DO NOTHING`
const HOLDS_LEASE = `SELECT 1 AS held FROM node
  WHERE id = $1 AND epoch = $2 AND lease_until > clock_timestamp()`
const dropDead = (table: 'online_session' | 'online_tunnel', among: string) =>
  `DELETE FROM ${table} AS them WHERE ${among} NOT EXISTS (SELECT 1 FROM node WHERE ${LIVE})`
const HOLDERS = `SELECT id, node, place, address, body FROM online_tunnel WHERE place ${AMONG}
  UNION SELECT id, node, place, address, body FROM online_tunnel
    WHERE id = ANY (ARRAY(SELECT json_array_elements_text($2::json)))`
const SESSIONS = `SELECT id, node FROM online_session WHERE id ${AMONG}`
const DROP_SESSIONS = `DELETE FROM online_session WHERE id ${AMONG}`
const DROP_TUNNELS = `DELETE FROM online_tunnel WHERE id ${AMONG}`
const FREE_ADDRESSES = `DELETE FROM online_address AS them WHERE address ${AMONG}
  AND NOT EXISTS (SELECT 1 FROM online_tunnel WHERE online_tunnel.address = them.address)`
const PUT_SESSIONS = `INSERT INTO online_session (id, node, epoch, body)
  SELECT id, node, epoch, body FROM json_to_recordset($1::json) AS them (id text, node text, epoch bigint, body text)
  ON CONFLICT (id) DO UPDATE SET node = excluded.node, epoch = excluded.epoch, body = excluded.body`
// `admit` has decided under the lock; the unique key of the addresses guarantees it.
const PUT_TUNNELS = `WITH them AS (
    SELECT * FROM json_to_recordset($1::json)
      AS them (id text, node text, epoch bigint, place text, address text, owner text, body text)),
  put AS (
    INSERT INTO online_tunnel (id, node, epoch, place, address, body)
    SELECT id, node, epoch, place, address, body FROM them
    ON CONFLICT (id) DO UPDATE SET node = excluded.node, epoch = excluded.epoch, place = excluded.place,
      address = excluded.address, body = excluded.body)
  INSERT INTO online_address AS held (address, owner)
  SELECT DISTINCT address, owner FROM them WHERE address IS NOT NULL
  ON CONFLICT (address) DO UPDATE SET owner = excluded.owner WHERE held.owner = excluded.owner
  RETURNING address`
const PUBLISH = `WITH put AS (
    INSERT INTO online_change (sequence, body) SELECT $2::bigint + ordinality, body
    FROM json_array_elements_text($1::json) WITH ORDINALITY AS them (body, ordinality)),
  advanced AS (UPDATE online_state SET sequence = $3 WHERE id = 1)
  SELECT pg_notify('${ONLINE_CHANNEL}', '${DIRECTORY_CHANGED}')`

interface State {
  readonly incarnation: string
  readonly sequence: number
}

type Node = Pick<NodeRow, 'id' | 'epoch'>

interface TunnelRow {
  readonly id: string
  readonly node: string
  readonly place: string | null
  readonly address: string | null
  readonly body: string
}

type PlannedTunnel = TunnelRow & { readonly owner?: string }

/** Locks what is online against other writers; it is created where the database server has lost it. */
export function* lockOnline(): Steps<State> {
  for (;;) {
    const [state] = yield* query<State>(LOCK)
    if (state !== undefined) return state
    yield* query(CREATE)
  }
}

/** Removes the rows of expired epochs. */
export function* dropDeadRows(): Steps<void> {
  yield* query(dropDead('online_session', ''))
  yield* query(dropDead('online_tunnel', ''))
  yield* query(
    'DELETE FROM online_address AS them WHERE NOT EXISTS (SELECT 1 FROM online_tunnel WHERE online_tunnel.address = them.address)',
  )
}

/** Applies a batch in one transaction to what the node has written in an incarnation; undefined: in the current one. */
export function* writeOnline(
  node: Node,
  batch: readonly OnlineWrite[],
  to: string | undefined,
): Steps<OnlineOutcome> {
  yield* query('BEGIN ISOLATION LEVEL READ COMMITTED')
  const { incarnation, sequence: before } = yield* lockOnline()
  const held = yield* query(HOLDS_LEASE, node.id, node.epoch)
  const isLost = to !== undefined && to !== incarnation
  if (held.length === 0 || isLost) {
    yield* query('ROLLBACK')
    return { is: isLost ? 'lost' : 'fenced' }
  }
  const plan = new Plan(node, yield* rowsFor(batch))
  const refusals = batch.map(write => plan.add(write))
  yield* plan.write(before)
  yield* query('COMMIT')
  return { is: 'written', incarnation, before, texts: plan.texts, refusals }
}

interface KnownRows {
  readonly tunnels: readonly TunnelRow[]
  readonly sessions: readonly { readonly id: string; readonly node: string }[]
}

/** The rows that a batch concerns, without those of expired epochs, which are removed. */
function* rowsFor(batch: readonly OnlineWrite[]): Steps<KnownRows> {
  const claims = batch.flatMap(write => (write.op === 'put_tunnel' ? [write.tunnel] : []))
  const places = JSON.stringify([...new Set(claims.flatMap(({ place }) => place ?? []))])
  const tunnelIds = [
    ...claims.map(({ id }) => id),
    ...batch.flatMap(write => (write.op === 'drop_tunnel' ? [write.id] : [])),
  ]
  if (claims.length > 0) yield* query(dropDead('online_tunnel', `them.place ${AMONG} AND`), places)
  const tunnels =
    tunnelIds.length === 0 ? [] : yield* query<TunnelRow>(HOLDERS, places, JSON.stringify(tunnelIds))
  const sessionIds = batch.flatMap(write => (write.op === 'drop_session' ? [write.id] : []))
  const sessions =
    sessionIds.length === 0
      ? []
      : yield* query<{ readonly id: string; readonly node: string }>(SESSIONS, JSON.stringify(sessionIds))
  return { tunnels, sessions }
}

/** The rows after a batch, and the changes that lead there. */
class Plan {
  readonly texts: string[] = []
  readonly #node: Node
  readonly #tunnels = new Map<string, PlannedTunnel>()
  readonly #atPlace = new Map<string, Set<string>>()
  readonly #sessions = new Map<
    string,
    { readonly id: string; readonly node: string; readonly body?: string }
  >()
  /** Tunnels that have a row. */
  readonly #known: ReadonlySet<string>
  readonly #touchedTunnels = new Set<string>()
  readonly #touchedSessions = new Set<string>()
  readonly #touchedAddresses = new Set<string>()
  #isRestoring: boolean | undefined

  constructor(node: Node, { tunnels, sessions }: KnownRows) {
    this.#node = node
    this.#known = new Set(tunnels.map(({ id }) => id))
    for (const row of tunnels) this.#addTunnel(row)
    for (const row of sessions) this.#sessions.set(row.id, row)
  }

  /** Why the write is refused. */
  add(write: OnlineWrite): unknown {
    switch (write.op) {
      case 'put_session':
        this.#sessions.set(write.id, { id: write.id, node: this.#node.id, body: write.body })
        this.#touchedSessions.add(write.id)
        break
      case 'put_tunnel': {
        const refusal = this.#claim(write.tunnel)
        if (refusal !== undefined) return refusal
        break
      }
      case 'drop_session':
        if (this.#sessions.get(write.id)?.node !== write.node) return undefined
        this.#sessions.delete(write.id)
        this.#touchedSessions.add(write.id)
        break
      case 'drop_tunnel':
        if (this.#tunnels.get(write.id)?.node !== write.node) return undefined
        this.#removeTunnel(write.id)
        break
      case 'restoring':
        this.#isRestoring = write.isRestoring
        return undefined
      case 'mark':
        break
    }
    this.texts.push(write.text)
    return undefined
  }

  *write(before: number): Steps<void> {
    yield* this.#remove()
    const { id: node, epoch } = this.#node
    const sessions = present(this.#sessions, this.#touchedSessions).map(({ id, body }) => ({
      id,
      node,
      epoch,
      body,
    }))
    if (sessions.length > 0) yield* query(PUT_SESSIONS, JSON.stringify(sessions))
    const tunnels = present(this.#tunnels, this.#touchedTunnels)
    if (tunnels.length > 0) {
      const held = yield* query(PUT_TUNNELS, JSON.stringify(tunnels.map(row => ({ ...row, node, epoch }))))
      if (held.length !== new Set(tunnels.flatMap(({ address }) => address ?? [])).size)
        throw new StoreError('unusable', 'An address would have two owners.')
    }
    if (this.#isRestoring !== undefined) yield* this.#markRestoring(this.#isRestoring)
    if (this.texts.length > 0)
      yield* query(PUBLISH, JSON.stringify(this.texts), before, before + this.texts.length)
  }

  /** A replaced row goes too: its address is free, unless it is claimed again. */
  *#remove(): Steps<void> {
    const tunnels = [...this.#touchedTunnels].filter(id => this.#known.has(id))
    if (tunnels.length > 0) yield* query(DROP_TUNNELS, JSON.stringify(tunnels))
    const sessions = [...this.#touchedSessions].filter(id => !this.#sessions.has(id))
    if (sessions.length > 0) yield* query(DROP_SESSIONS, JSON.stringify(sessions))
    const addresses = [...this.#touchedAddresses]
    if (addresses.length > 0) yield* query(FREE_ADDRESSES, JSON.stringify(addresses))
  }

  *#markRestoring(isRestoring: boolean): Steps<void> {
    const { id, epoch } = this.#node
    yield* query(`UPDATE node SET restoring = ${isRestoring} WHERE id = $1`, id)
    if (isRestoring) return
    yield* query('DELETE FROM online_session WHERE node = $1 AND epoch <> $2', id, epoch)
    yield* query('DELETE FROM online_tunnel WHERE node = $1 AND epoch <> $2', id, epoch)
  }

  #claim(claim: TunnelClaim): unknown {
    const { id, body, owner } = claim
    const [place, address] = [claim.place ?? null, claim.address ?? null]
    const holders = [...(this.#atPlace.get(place ?? '') ?? [])]
    const refusal = claim.admit(holders.flatMap(other => this.#tunnels.get(other)?.body ?? []))
    if (refusal !== undefined) return refusal
    this.#removeTunnel(id)
    this.#addTunnel({ id, node: this.#node.id, place, address, body, owner })
    if (address !== null) this.#touchedAddresses.add(address)
    return undefined
  }

  #addTunnel(row: PlannedTunnel): void {
    this.#tunnels.set(row.id, row)
    if (row.place !== null)
      this.#atPlace.set(row.place, (this.#atPlace.get(row.place) ?? new Set()).add(row.id))
  }

  #removeTunnel(id: string): void {
    const { address = null, place } = this.#tunnels.get(id) ?? {}
    if (address !== null) this.#touchedAddresses.add(address)
    this.#tunnels.delete(id)
    this.#atPlace.get(place ?? '')?.delete(id)
    this.#touchedTunnels.add(id)
  }
}

const present = <Row>(rows: ReadonlyMap<string, Row>, ids: ReadonlySet<string>): Row[] =>
  [...ids].flatMap(id => rows.get(id) ?? [])
