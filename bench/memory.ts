import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { IdleAnswer, IdleJob } from './support/idle-program.ts'
import { seconds } from './support/interleave.ts'
import { aditTunnel } from './support/peers/adit.ts'
import type { Contender, Address } from './support/peers/contender.ts'
import { frp } from './support/peers/frp.ts'
import { upstream } from './support/peers/nginx.ts'
import { residentBytes } from './support/processes.ts'
import { ask, program } from './support/programs.ts'
import type { Row } from './support/row.ts'
import { wrk } from './support/wrk.ts'

const SETTLE_MS = 5000
const SAMPLE_MS = 100
const CONNECTIONS = 64
const IDLE_CLIENTS = 1000
const sides = ['server', 'agent'] as const

/** Of the server and its agent for HTTP, in bytes. */
type Memory = readonly [server: number, agent: number]

/** What is compared, in this order: each leaves some memory behind. */
const works: readonly { readonly name: string; readonly of: (peer: Weighed) => Promise<Memory> }[] = [
  { name: 'idle', of: peer => settled(peer) },
  { name: `small answers, ${CONNECTIONS} connections, most`, of: peer => underLoad(peer, '/', CONNECTIONS) },
  { name: '10 MiB down, 4 connections, most', of: peer => underLoad(peer, '/bulk', 4) },
  { name: `idle again, ${IDLE_CLIENTS} idle clients`, of: peer => withIdleClients(peer) },
]

interface Weighed {
  readonly address: Address
  readonly pids: readonly number[]
  readonly folder: string
}

const now = ({ pids: [server = 0, agent = 0] }: Weighed): Memory => [
  residentBytes(server),
  residentBytes(agent),
]

async function settled(peer: Weighed): Promise<Memory> {
  await setTimeout(SETTLE_MS)
  return now(peer)
}

async function underLoad(peer: Weighed, path: string, connections: number): Promise<Memory> {
  const load = { isOver: false }
  const running = wrk(
    peer.address,
    { path, connections, seconds: Math.max(5, seconds) },
    peer.folder,
  ).finally(() => (load.isOver = true))
  let [server, agent] = now(peer)
  while (!load.isOver) {
    await setTimeout(SAMPLE_MS)
    const sampled = now(peer)
    ;[server, agent] = [Math.max(server, sampled[0]), Math.max(agent, sampled[1])]
  }
  await running
  return [server, agent]
}

async function withIdleClients(peer: Weighed): Promise<Memory> {
  const child = program('idle-program.ts')
  try {
    const job: IdleJob = { ...peer.address, tls: false, count: IDLE_CLIENTS, path: '/', stall: false }
    const { open } = await ask<IdleAnswer>(child, job)
    if (open !== IDLE_CLIENTS) throw new Error(`only ${open} clients are open`)
    return await settled(peer)
  } finally {
    child.kill()
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`

/** Resident memory beside that of frp; the pages of the programs count. */
export async function* memory(): AsyncGenerator<Row> {
  const folder = mkdtempSync(join(tmpdir(), 'adit-bench-'))
  await using parts = new AsyncDisposableStack()
  parts.defer(() => rmSync(folder, { recursive: true, force: true }))
  const { port } = parts.use(await upstream(folder))
  const target = { http: port, tcp: port, grpc: port }
  const weighed = ({ http, pids }: Contender): Weighed => {
    if (http === undefined) throw new Error('it has no port for HTTP')
    return { address: http, pids, folder }
  }
  const ours = weighed(parts.use(await aditTunnel(folder, { http: port, tcp: port })))
  const theirs = weighed(parts.use(await frp(folder, target)))
  for (const { name, of } of works) {
    const [own, other] = [await of(ours), await of(theirs)]
    for (const [at, side] of sides.entries()) {
      const [mine = 0, peers = 0] = [own[at], other[at]]
      const figure = mine / peers
      yield { name: `${name}: ${side}, vs frp`, ours: megabytes(mine), peer: megabytes(peers), figure }
    }
  }
}
