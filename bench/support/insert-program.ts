import pg from 'pg'
import { answerJobs } from './answer-jobs.ts'

interface InsertJob {
  readonly url: string
  readonly clients: number
  readonly milliseconds: number
}

const TABLE = 'CREATE TABLE IF NOT EXISTS bare (id BIGSERIAL PRIMARY KEY, body TEXT NOT NULL)'
const INSERT = { name: 'insert', text: 'INSERT INTO bare (body) VALUES ($1)' }

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

/**
 * Each client inserts one row after another, every one of them a transaction, with a statement that is parsed once for
 * its connection. PostgreSQL flushes commits of several clients together.
 */
async function insert({ url, clients: count, milliseconds }: InsertJob): Promise<{ perSecond: number }> {
  const clients = await Promise.all(Array.from({ length: count }, () => connected(url)))
  await clients[0]?.query(TABLE)
  const body = JSON.stringify({ description: 'bench', metadata: '', created_at: new Date().toISOString() })
  const start = performance.now()
  let commits = 0
  const run = async (client: pg.Client): Promise<void> => {
    for (; performance.now() - start < milliseconds; commits++)
      await client.query({ ...INSERT, values: [body] })
  }
  await Promise.all(clients.map(run))
  const perSecond = (commits / (performance.now() - start)) * 1000
  await Promise.all(clients.map(client => client.end()))
  return { perSecond }
}

answerJobs(insert)
