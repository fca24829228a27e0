import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { BindingAgent } from '../binding-agent.ts'
import type { Row } from '../row.ts'
import { portOf, startNodes } from './nodes.ts'

const NODES = 3
const REST_MS = 20_000
const CHANGES = 200
/** A session of PostgreSQL that has become idle reports what it has done after 10 seconds. */
const REPORT_MS = 11_000

const COMMITS = 'SELECT xact_commit AS count FROM pg_stat_database WHERE datname = current_database()'

/** Transactions of the database by `work`, without those of a measurement itself. */
async function transactions(client: pg.Client, work: () => Promise<unknown>): Promise<number> {
  const count = async (): Promise<number> => {
    await pause(REPORT_MS)
    return Number((await client.query<{ count: string }>(COMMITS)).rows[0]?.count)
  }
  const before = await count()
  await work()
  return (await count()) - before
}

/** What the nodes ask of PostgreSQL: independent of the speed of this machine. */
export async function* databaseWork(): AsyncGenerator<Row> {
  await using parts = new AsyncDisposableStack()
  const { first, authtoken, database } = parts.use(await startNodes(NODES))
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  parts.defer(() => client.end())
  const agent = parts.use(await BindingAgent.signIn(portOf(first, 'agent'), authtoken))
  const about = { ours: `${NODES} nodes`, peer: '' }
  const idle = await transactions(client, () => pause(REST_MS))
  const perSecond = idle / ((REST_MS + REPORT_MS) / 1000) / NODES
  yield { ...about, name: 'transactions per second and node at rest', figure: perSecond }
  const begun = performance.now()
  const busy = await transactions(client, async () => {
    for (let change = 0; change < CHANGES; change++)
      await agent.unbind(await agent.bind(`db-${change}.adit.localhost`))
  })
  const rest = perSecond * NODES * ((performance.now() - begun - REPORT_MS) / 1000)
  yield {
    ...about,
    name: 'transactions for each change of the directory, one after the other',
    figure: (busy - rest) / (2 * CHANGES),
  }
}
