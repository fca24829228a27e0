import { join } from 'node:path'
import { newFolder } from '../test/support/folder.ts'
import { startPostgres } from '../test/support/postgres.ts'
import { Adit } from './support/adit.ts'
import { cellsOf } from './support/edges/rated.ts'
import { inTurn, seconds } from './support/interleave.ts'
import { Load, type Job } from './support/load.ts'
import type { PeerAnswer } from './support/peer-program.ts'
import { ask, program } from './support/programs.ts'
import { perSecond, type Row } from './support/row.ts'

const ROUND = { milliseconds: 1000 * seconds }
const CONNECTIONS = [1, 64]

interface Measured {
  readonly perSecond: number
}

/** Both in turn. The ratio is that of single rounds. */
async function compare(
  name: string,
  ours: () => Promise<Measured>,
  peer: () => Promise<Measured>,
  target: Row['target'],
): Promise<Row> {
  const rate = (run: typeof ours) => async () => ({ rate: (await run()).perSecond })
  const results = await inTurn({ ours: rate(ours), peer: rate(peer) })
  const compared = { ours: results['ours'] ?? [], peer: results['peer'] ?? [] }
  return { name, ...cellsOf(compared, 'rate', perSecond), ...(target && { target }) }
}

interface Reads {
  readonly name: string
  readonly path: string
  /** Path suffixes, chosen at random. */
  readonly values?: readonly string[]
  readonly target?: Row['target']
}

/** Adit against a bare node:http server that returns the same bytes from memory. */
async function* reads(adit: Adit, load: Load, what: Reads): AsyncGenerator<Row> {
  const { name, path, values = [''] } = what
  const response = await fetch(`http://127.0.0.1:${adit.port}${path}${values[0]}`, {
    headers: { authorization: `Bearer ${adit.process.api.token}` },
  })
  const own = ['content-type', 'cache-control', 'adit-operation-id']
  const headers = Object.fromEntries(own.map(header => [header, response.headers.get(header) ?? '']))
  const answer: PeerAnswer = { headers, body: await response.text() }
  const peer = program('peer-program.ts')
  try {
    const { port } = await ask<{ port: number }>(peer, answer)
    for (const connections of CONNECTIONS) {
      const job: Job = { ...adit.get(path, values), connections, until: ROUND }
      yield await compare(
        `${name}, ${connections} connection${connections === 1 ? '' : 's'}, vs bare node:http`,
        () => load.run(job),
        () => load.run({ ...job, port }),
        what.target,
      )
    }
  } finally {
    peer.kill()
  }
}

/** Adit against a loop of one-row commits on the same disk, and against a bare server with the same transactions. */
async function* writes(load: Load): AsyncGenerator<Row> {
  await using parts = new AsyncDisposableStack()
  const adit = parts.use(await Adit.start())
  const [commits, groups] = [program('commit-program.ts'), program('post-groups-program.ts')]
  parts.defer(() => void (commits.kill() && groups.kill()))
  const post: Job = { ...adit.post('/ip_policies', { description: 'bench' }), connections: 64, until: ROUND }
  yield await compare(
    'POST ip_policies, 64 connections, vs one-row commits of SQLite',
    () => load.run(post),
    () => ask(commits, { file: join(adit.dataDir, 'bare.db'), ...ROUND }),
    { atLeast: 0.6 },
  )
  const { port } = await ask<{ port: number }>(groups, { file: join(adit.dataDir, 'bare-groups.db') })
  yield await compare(
    'the same, vs a bare server with the same transactions',
    () => load.run(post),
    () => load.run({ ...post, port }),
    undefined,
  )
}

/** What the tests change is as PostgreSQL has it by default: commits reach the disk. */
const AS_INSTALLED = ['fsync=on', 'shared_buffers=128MB', 'max_connections=100']

/**
 * Adit on PostgreSQL against as many clients of it, which commit one row after another, and against a bare server with
 * the same transactions.
 */
async function* postgresWrites(load: Load): AsyncGenerator<Row> {
  await using parts = new AsyncDisposableStack()
  const postgres = await startPostgres(AS_INSTALLED)
  parts.defer(() => postgres.stop())
  const environment = { ADIT_DATABASE_URL: await postgres.newDatabase() }
  const adit = parts.use(await Adit.start(newFolder(), environment))
  const [inserts, groups] = [program('insert-program.ts'), program('post-groups-program.ts')]
  parts.defer(() => void (inserts.kill() && groups.kill()))
  const url = await postgres.newDatabase()
  const post = { ...adit.post('/ip_policies', { description: 'bench' }), connections: 64, until: ROUND }
  yield await compare(
    'POST ip_policies, 64 connections, vs one-row commits of PostgreSQL',
    () => load.run(post),
    () => ask(inserts, { url, clients: 64, ...ROUND }),
    { atLeast: 0.5 },
  )
  const { port } = await ask<{ port: number }>(groups, { url: await postgres.newDatabase() })
  yield await compare(
    'the same, vs a bare server with the same transactions',
    () => load.run(post),
    () => load.run({ ...post, port }),
    undefined,
  )
}

/** The management API against the minimum for the same work. */
export async function* api(): AsyncGenerator<Row> {
  using load = new Load()
  {
    await using adit = await Adit.start()
    await adit.fill(load, 100)
    const [id = ''] = await adit.ids()
    const target = { atLeast: 0.75 }
    yield* reads(adit, load, { name: 'GET by id', path: `/ip_policies/${id}`, target })
    yield* reads(adit, load, { name: 'list of 100', path: '/ip_policies?limit=100', target })
    // 100 different pages, as a client sees that pages through a list.
    await adit.fill(load, 101)
    const values = (await adit.ids()).slice(0, 100)
    yield* reads(adit, load, {
      name: '100 from a random position',
      path: '/ip_policies?limit=100&before_id=',
      values,
      target: { atLeast: 0.4 },
    })
  }
  yield* writes(load)
  yield* postgresWrites(load)
}
