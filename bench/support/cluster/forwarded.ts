import type { TestCluster } from '../../../test/cluster/cluster.ts'
import { type Figures, interleave, seconds } from '../interleave.ts'
import { BULK_BYTES, upstream } from '../peers/nginx.ts'
import { cpuSeconds } from '../processes.ts'
import { perSecond, type Row } from '../row.ts'
import { type HttpWork, wrk } from '../wrk.ts'
import { pidOf, portOf, startAgent, startNodes } from './nodes.ts'
import { startTlsRelays } from './tls-relays.ts'

const HOST = 'bench.adit.localhost'

interface Compared {
  readonly name: string
  readonly work: Omit<HttpWork, 'seconds'>
  readonly atLeast: number
  readonly show: (perSecond: number) => string
}

const small: Compared = {
  name: 'small answers, 64 connections',
  work: { path: '/', connections: 64 },
  atLeast: 0.75,
  show: perSecond,
}

const bulk: Compared = {
  name: '10 MiB down, 4 connections',
  work: { path: '/bulk', connections: 4 },
  atLeast: 0.8,
  show: rate => `${Math.round((rate * BULK_BYTES) / 1e6)} MB/s`,
}

/** Requests at a node, with the CPU time of both nodes for 10,000 of them. */
const measure =
  ({ nodes }: TestCluster, at: number, work: Compared['work'], folder: string) =>
  async (): Promise<Figures> => {
    const pids = nodes.map(pidOf)
    const before = pids.map(pid => cpuSeconds([pid]))
    const node = nodes[at] ?? nodes[0]
    const address = { port: node === undefined ? 0 : portOf(node, 'http'), host: HOST }
    const { perSecond: rate, p50Ms } = await wrk(address, { ...work, seconds }, folder)
    const [agentNode = 0, clientNode = 0] = pids.map(
      (pid, index) => ((cpuSeconds([pid]) - (before[index] ?? 0)) / (rate * seconds)) * 10_000,
    )
    return { rate, p50Ms, agentNode, clientNode }
  }

const inSeconds = (value = Number.NaN): string => `${value.toFixed(2)} s`

function* rowsOf(
  { name, atLeast, show }: Compared,
  results: Readonly<Record<string, Figures>>,
): Generator<Row> {
  const { local = {}, forwarded: far = {} } = results
  const ratio = (key: string): number => (far[key] ?? Number.NaN) / (local[key] ?? Number.NaN)
  yield {
    name: `${name}, forwarded vs local`,
    ours: show(far['rate'] ?? Number.NaN),
    peer: show(local['rate'] ?? Number.NaN),
    figure: ratio('rate'),
    target: { atLeast },
  }
  yield {
    name: `${name}, forwarded vs local, p50`,
    ours: `${far['p50Ms']?.toFixed(2)} ms`,
    peer: `${local['p50Ms']?.toFixed(2)} ms`,
    figure: ratio('p50Ms'),
  }
  yield {
    name: `${name}, forwarded vs local, CPU/10k of the agent's node`,
    ours: inSeconds(far['agentNode']),
    peer: inSeconds(local['agentNode']),
    figure: ratio('agentNode'),
  }
  yield {
    name: `${name}, forwarded, CPU/10k of the client's node, vs that of the agent's node`,
    ours: inSeconds(far['clientNode']),
    peer: inSeconds(far['agentNode']),
    figure: (far['clientNode'] ?? Number.NaN) / (far['agentNode'] ?? Number.NaN),
  }
}

/** Clients at the node of the agent, and at another one. All processes share the cores of this machine. */
export async function* forwarded(folder: string): AsyncGenerator<Row> {
  await using parts = new AsyncDisposableStack()
  const service = parts.use(await upstream(folder))
  // Agents cannot connect to the second node, which would then have a connection of its own.
  const cluster = parts.use(await startNodes(2, index => (index === 0 ? {} : { ADIT_AGENT_ADDR: 'off' })))
  parts.use(await startAgent(cluster, cluster.first, `http ${service.port} --name bench`))
  const both = ({ work }: Compared): Record<'local' | 'forwarded', () => Promise<Figures>> => ({
    local: measure(cluster, 0, work, folder),
    forwarded: measure(cluster, 1, work, folder),
  })
  yield* rowsOf(small, await interleave(both(small)))
  const relays = parts.use(await startTlsRelays(folder, service.port))
  const bare = (port: number) => async (): Promise<Figures> => {
    const { perSecond: rate } = await wrk({ port, host: HOST }, { ...bulk.work, seconds }, folder)
    return { rate }
  }
  const results = await interleave({
    ...both(bulk),
    bareLocal: bare(relays.local),
    bareForwarded: bare(relays.forwarded),
  })
  yield* rowsOf(bulk, results)
  const [far = Number.NaN, near = Number.NaN] = [results['bareForwarded'], results['bareLocal']].map(
    each => each?.['rate'] ?? Number.NaN,
  )
  yield {
    name: `${bulk.name}, bare node:tls relays, with another hop vs without`,
    ours: bulk.show(far),
    peer: bulk.show(near),
    figure: far / near,
  }
}
