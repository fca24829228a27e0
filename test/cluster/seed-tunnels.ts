import pg from 'pg'
import { sessionText, tunnelText } from '#cluster/nodes/online-record.ts'
import { sessionRecord, tunnelRecord } from '../support/records.ts'

export const SEED = 'nd_seed'
const BATCH = 5000

const INFO = JSON.stringify({
  name: 'seed',
  version: '0.1.0',
  region: 'us',
  peer: '127.0.0.1:1',
  publicAddresses: [],
  agentAddresses: [],
  startedAt: '2026-01-01T00:00:00Z',
})

const recordsOf = (index: number) => {
  const [sessionId, host] = [`ts_${String(index).padStart(27, '0')}`, `t${index}.adit.localhost`]
  return {
    session: sessionRecord({ id: sessionId, node: SEED }),
    tunnel: tunnelRecord({
      id: `tn_${String(index).padStart(27, '0')}`,
      sessionId,
      node: SEED,
      address: { scheme: 'http', host },
      url: `http://${host}`,
    }),
  }
}

/** Writes the sessions and tunnels of a node that no program serves, as if it had written them itself. */
export async function seedTunnels(url: string, count: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(
      `INSERT INTO node (id, epoch, info, clients, draining, lease_until)
       VALUES ($1, nextval('node_epoch'), $2, 0, false, clock_timestamp() + interval '1 hour')`,
      [SEED, INFO],
    )
    await client.query(
      `INSERT INTO online_state (id, incarnation, sequence) VALUES (1, gen_random_uuid()::text, 0)
       ON CONFLICT DO NOTHING`,
    )
    for (let from = 0; from < count; from += BATCH) {
      const length = Math.min(BATCH, count - from)
      const records = Array.from({ length }, (_, index) => recordsOf(from + index))
      const rows = records.map(({ session, tunnel }) => ({
        session: session.id,
        session_body: sessionText(session),
        tunnel: tunnel.id,
        tunnel_body: tunnelText(tunnel),
        address: tunnel.url,
      }))
      await client.query(INSERT, [JSON.stringify(rows), SEED])
    }
    // Nodes that run read everything again.
    await client.query('UPDATE online_state SET incarnation = gen_random_uuid()::text')
  } finally {
    await client.end()
  }
}

const INSERT = `WITH them AS (
    SELECT * FROM json_to_recordset($1::json)
      AS them (session text, session_body text, tunnel text, tunnel_body text, address text)),
  holder AS (SELECT id, epoch FROM node WHERE id = $2),
  sessions AS (
    INSERT INTO online_session (id, node, epoch, body)
    SELECT them.session, holder.id, holder.epoch, them.session_body FROM them, holder),
  addresses AS (INSERT INTO online_address (address, owner) SELECT address, 'usr_1' FROM them)
  INSERT INTO online_tunnel (id, node, epoch, place, address, body)
  SELECT them.tunnel, holder.id, holder.epoch, them.address, them.address, them.tunnel_body FROM them, holder`
