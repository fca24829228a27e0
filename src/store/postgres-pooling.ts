import type pg from 'pg'
import type { PostgresHosts } from '#store/postgres-hosts.ts'
import { StoreError } from '#store/store-error.ts'

const REFUSAL =
  'The database URL is that of a connection pooler in transaction mode, but Adit needs sessions (prepared statements, LISTEN): set pool_mode = session for its database, or connect to PostgreSQL itself.'

/**
 * Rejects when transactions of one connection may run in different sessions. A pooler does not report it: it shows where
 * two connections share a session, or one connection changes its own.
 */
export async function refuseTransactionPooling(hosts: PostgresHosts): Promise<void> {
  const one = await connected(hosts)
  try {
    const session = await sessionOf(one)
    // PostgreSQL itself sends its process id at the start of the connection; a pooler sends a number of its own.
    if (isDirect(one, session)) return
    const two = await connected(hosts)
    try {
      const isShared = (await sessionOf(two)) === session || (await sessionOf(one)) !== session
      if (isShared) throw new StoreError('unusable', REFUSAL)
    } finally {
      await two.end()
    }
  } finally {
    await one.end()
  }
}

/** Tries every server. */
async function connected(hosts: PostgresHosts): Promise<pg.Client> {
  for (let left = hosts.count - 1; ; left -= 1) {
    const client = hosts.client()
    // The query in progress reports a lost connection.
    client.on('error', () => undefined)
    try {
      return await client.connect()
    } catch (error) {
      if (left <= 0) throw error
    }
  }
}

async function sessionOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return rows[0]?.pid ?? 0
}

const isDirect = (client: pg.Client, session: number): boolean =>
  'processID' in client && client.processID === session
