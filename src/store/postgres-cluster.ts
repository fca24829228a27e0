import type pg from 'pg'
import { CHANGES_CHANNEL } from '#store/dialect.ts'
import { query, type Steps } from '#store/engine.ts'
import {
  CHANGES_PAGE,
  type NodeReport,
  type NodeRow,
  type NodeStore,
  type OnlineOutcome,
  type OnlineRow,
  type OnlineState,
  type OnlineWrite,
  type Renewal,
  type SnapshotReader,
  type Wake,
} from '#base/node-store.ts'
import {
  DIRECTORY_CHANGED,
  dropDeadRows,
  lockOnline,
  ONLINE_CHANNEL,
  writeOnline,
} from '#store/online-writes.ts'
import { PostgresHosts } from '#store/postgres-hosts.ts'
import { openEngine, type PostgresEngine, working } from '#store/postgres.ts'

/** How long a node may be silent before the others take over its addresses. */
const LEASE = "interval '10 seconds'"
/** Expired nodes stay visible for so long. */
const SHOWN = "interval '10 minutes'"
/** A follower that is further behind reads everything. */
const KEPT_CHANGES = 20_000
const SNAPSHOT_PAGE = 10_000
const RETRY_MS = 2000
/** A database that hangs must be noticed long before the lease ends. */
const IMPATIENT = {
  pool: { ...working.pool, max: 4, connectionTimeoutMillis: 3000, query_timeout: 4000 },
  session: { ...working.session, statement_timeout: 3000 },
}

const JOIN = `INSERT INTO node (id, epoch, info, clients, draining, lease_until)
  VALUES ($1, nextval('node_epoch'), $2, $3, false, clock_timestamp() + ${LEASE})
  ON CONFLICT (id) DO UPDATE SET epoch = excluded.epoch, info = excluded.info, clients = excluded.clients,
    lease_until = excluded.lease_until
  RETURNING epoch`
const RENEW = `WITH renewed AS (
    UPDATE node SET lease_until = clock_timestamp() + ${LEASE}, info = $3, clients = $4
    WHERE id = $1 AND epoch = $2 AND lease_until > clock_timestamp() RETURNING id)
  SELECT id, epoch, info, clients, draining AS "isDraining",
    (extract(epoch FROM lease_until - clock_timestamp()) * 1000)::float8 AS "leaseMs",
    (SELECT count(*) FROM renewed) AS renewed FROM node`
const NOTIFY = `SELECT pg_notify('${ONLINE_CHANNEL}', '')`
const CHANGES = `SELECT state.incarnation, state.sequence AS latest, online_change.sequence, online_change.body
  FROM online_state AS state LEFT JOIN online_change ON online_change.sequence > $1
  WHERE state.id = 1 ORDER BY online_change.sequence LIMIT ${CHANGES_PAGE}`

interface ChangeRow {
  readonly incarnation: string
  readonly latest: number
  readonly sequence: number | null
  readonly body: string | null
}

/** The cluster tables of a PostgreSQL database whose schema is up to date. */
export function openNodeStore(url: string): NodeStore {
  const hosts = new PostgresHosts(url)
  return new PostgresCluster(hosts, openEngine(hosts, IMPATIENT))
}

class PostgresCluster implements NodeStore {
  readonly #hosts: PostgresHosts
  readonly #engine: PostgresEngine
  #listener: pg.Client | undefined
  #timer: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(hosts: PostgresHosts, engine: PostgresEngine) {
    this.#hosts = hosts
    this.#engine = engine
  }

  join(report: NodeReport): Promise<number> {
    return this.#engine.run(join(report))
  }

  async renew({ id, info, clients }: NodeReport, epoch: number): Promise<Renewal> {
    type Row = NodeRow & { readonly renewed: number }
    const rows = await this.#engine.run(query<Row>(RENEW, id, epoch, info, clients))
    return { isRenewed: rows.some(({ renewed }) => renewed > 0), nodes: rows }
  }

  async countLive(): Promise<number> {
    const text = 'SELECT 1 FROM node WHERE lease_until > clock_timestamp()'
    return (await this.#engine.run(query(text))).length
  }

  leave(id: string): Promise<void> {
    return this.#engine.run(leave(id))
  }

  async drain(id: string): Promise<boolean> {
    const text = `UPDATE node SET draining = true WHERE id = $1 RETURNING id`
    const rows = await this.#engine.run(query(text, id))
    await this.notify()
    return rows.length > 0
  }

  async notify(): Promise<void> {
    await this.#engine.run(query(NOTIFY))
  }

  sweep(): Promise<void> {
    return this.#engine.run(sweep())
  }

  write(
    node: Pick<NodeRow, 'id' | 'epoch'>,
    incarnation: string | undefined,
    batch: readonly OnlineWrite[],
  ): Promise<OnlineOutcome> {
    return this.#engine.run(writeOnline(node, batch, incarnation))
  }

  snapshot(reader: SnapshotReader): Promise<OnlineState> {
    return this.#engine.run(snapshot(reader))
  }

  async changes(incarnation: string, after: number): Promise<readonly string[] | undefined> {
    const rows = await this.#engine.run(query<ChangeRow>(CHANGES, after))
    const [first] = rows
    if (first?.incarnation !== incarnation) return undefined
    if (first.latest === after) return []
    if (first.sequence !== after + 1) return undefined
    return rows.flatMap(({ body }) => body ?? [])
  }

  listen(wake: Wake): void {
    this.#listen(wake).catch(() => this.#listenAgain(wake))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    // It may be broken already.
    await this.#listener?.end().catch(() => undefined)
    await this.#engine.close()
  }

  async #listen(wake: Wake): Promise<void> {
    const client = this.#hosts.client()
    this.#listener = client
    client.on('error', () => undefined)
    client.on('end', () => this.#listenAgain(wake))
    client.on('notification', ({ channel, payload, processId }) => {
      if (channel === CHANGES_CHANNEL) wake('resources')
      else if (payload !== DIRECTORY_CHANGED) wake('nodes')
      // A write of this process returns its changes.
      else if (!this.#engine.hasBackend(processId)) wake('directory')
    })
    await client.connect()
    await client.query(`LISTEN ${CHANGES_CHANNEL}; LISTEN ${ONLINE_CHANNEL}`)
    // What happened before is read now.
    wake('nodes')
    wake('resources')
  }

  #listenAgain(wake: Wake): void {
    clearTimeout(this.#timer)
    if (!this.#isClosed) this.#timer = setTimeout(() => this.listen(wake), RETRY_MS).unref()
  }
}

function* join({ id, info, clients }: NodeReport): Steps<number> {
  const [row] = yield* query<{ readonly epoch: number }>(JOIN, id, info, clients)
  yield* query(NOTIFY)
  return row?.epoch ?? 0
}

/** Its rows are removed without a change: followers see that its epoch has ended. */
function* leave(id: string): Steps<void> {
  yield* query('BEGIN ISOLATION LEVEL READ COMMITTED')
  yield* lockOnline()
  yield* query('DELETE FROM node WHERE id = $1', id)
  yield* dropDeadRows()
  yield* query(NOTIFY)
  yield* query('COMMIT')
}

function* sweep(): Steps<void> {
  yield* query('BEGIN ISOLATION LEVEL READ COMMITTED')
  const { sequence } = yield* lockOnline()
  yield* query(`DELETE FROM node WHERE lease_until < clock_timestamp() - ${SHOWN}`)
  yield* dropDeadRows()
  yield* query('DELETE FROM online_change WHERE sequence <= $1', sequence - KEPT_CHANGES)
  yield* query('COMMIT')
}

function* snapshot(reader: SnapshotReader): Steps<OnlineState> {
  yield* query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  const [state] = yield* query<{ readonly incarnation: string; readonly sequence: number }>(
    'SELECT incarnation, sequence FROM online_state WHERE id = 1',
  )
  const restoring = yield* query<{ readonly id: string }>('SELECT id FROM node WHERE restoring')
  yield* eachRow('online_session', row => reader.session(row))
  yield* eachRow('online_tunnel', row => reader.tunnel(row))
  yield* query('COMMIT')
  return {
    incarnation: state?.incarnation,
    sequence: state?.sequence ?? 0,
    restoring: new Set(restoring.map(({ id }) => id)),
  }
}

/** In pages, so that the timeout of a statement does not limit how many there can be. */
function* eachRow(table: 'online_session' | 'online_tunnel', take: (row: OnlineRow) => void): Steps<void> {
  yield* query(`DECLARE ${table}s CURSOR FOR SELECT node, epoch, body FROM ${table}`)
  for (;;) {
    const rows = yield* query<OnlineRow>(`FETCH ${SNAPSHOT_PAGE} FROM ${table}s`)
    rows.forEach(take)
    if (rows.length < SNAPSHOT_PAGE) return
  }
}
