import { join } from 'node:path'
import { Adit } from './support/adit.ts'
import { alternate, Load, type Job } from './support/load.ts'
import type { PeerAnswer } from './support/peer-program.ts'
import { ask, program } from './support/programs.ts'
import { perSecond, type Row } from './support/row.ts'

const ROUND = { milliseconds: 1000 }
const CONNECTIONS = [1, 64]

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
      const [ours = 0, theirs = 0] = await alternate([
        async () => (await load.run(job)).perSecond,
        async () => (await load.run({ ...job, port })).perSecond,
      ])
      yield {
        name: `${name}, ${connections} connection${connections === 1 ? '' : 's'}, vs bare node:http`,
        ours: perSecond(ours),
        peer: perSecond(theirs),
        figure: ours / theirs,
        ...(what.target && { target: what.target }),
      }
    }
  } finally {
    peer.kill()
  }
}

/** Adit against a loop of one-row commits on the same disk. */
async function writes(load: Load): Promise<Row> {
  await using adit = await Adit.start()
  const commits = program('commit-program.ts')
  const job: Job = { ...adit.post('/ip_policies', { description: 'bench' }), connections: 64, until: ROUND }
  try {
    const [ours = 0, theirs = 0] = await alternate([
      async () => (await load.run(job)).perSecond,
      async () =>
        (await ask<{ perSecond: number }>(commits, { file: join(adit.dataDir, 'bare.db'), ...ROUND }))
          .perSecond,
    ])
    return {
      name: 'POST ip_policies, 64 connections, vs one-row commits of SQLite',
      ours: perSecond(ours),
      peer: perSecond(theirs),
      figure: ours / theirs,
      target: { atLeast: 0.6 },
    }
  } finally {
    commits.kill()
  }
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
  yield await writes(load)
}
