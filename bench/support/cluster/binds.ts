import type { TestCluster } from '../../../test/cluster/cluster.ts'
import type { BindsAnswer, BindsJob } from '../binds-program.ts'
import { type Figures, interleave, seconds } from '../interleave.ts'
import { cpuSeconds } from '../processes.ts'
import { ask, program } from '../programs.ts'
import { perSecond, type Row } from '../row.ts'
import { pidOf, portOf, startNodes } from './nodes.ts'

const AGENTS = 12
/** An agent may have 256. */
const EACH = seconds < 3 ? 50 : 250

type Binds = (job: BindsJob) => Promise<BindsAnswer>

/** Tunnels opened per second, and the CPU time of each node for a thousand of them, wherever they were opened. */
const measure = (cluster: TestCluster, run: Binds) => async (): Promise<Figures> => {
  const { nodes, authtoken } = cluster
  const pids = nodes.map(pidOf)
  const before = cpuSeconds(pids)
  const ports = nodes.map(node => portOf(node, 'agent'))
  const { perSecond: rate } = await run({ ports, authtoken, agents: AGENTS, each: EACH })
  const cpu = ((cpuSeconds(pids) - before) / nodes.length / (AGENTS * EACH)) * 1000
  return { rate, cpu }
}

/** Tunnels that agents open at the nodes of a cluster, all at once. */
export async function* binds(): AsyncGenerator<Row> {
  await using parts = new AsyncDisposableStack()
  const [three, one] = [parts.use(await startNodes(3)), parts.use(await startNodes(1))]
  const child = program('binds-program.ts')
  parts.defer(() => void child.kill())
  const run: Binds = job => ask<BindsAnswer>(child, job)
  const results = await interleave({ three: measure(three, run), one: measure(one, run) })
  const of = (name: string, key: string): number => results[name]?.[key] ?? Number.NaN
  const [rate, alone] = [of('three', 'rate'), of('one', 'rate')]
  const name = 'tunnels opened, three nodes'
  yield { name: `${name} vs one`, ours: perSecond(rate), peer: perSecond(alone), figure: rate / alone }
  const thousand = { figure: rate / 1000, target: { atLeast: 2 } }
  yield { name: `${name}, thousands a second`, ours: perSecond(rate), peer: '', ...thousand }
  const [cpu, cpuAlone] = [of('three', 'cpu'), of('one', 'cpu')]
  const text = (value: number): string => `${value.toFixed(2)} s`
  yield {
    name: `${name} vs one, opened and closed, CPU/1k of each node`,
    ours: text(cpu),
    peer: text(cpuAlone),
    figure: cpu / cpuAlone,
  }
}
