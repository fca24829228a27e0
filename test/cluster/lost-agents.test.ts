import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '../support/until.ts'
import type { AgentsJob } from './agents-program.ts'
import { type Node, nodesOf, SOON, TestCluster, untilStates } from './cluster.ts'
import { idOf } from './load.ts'
import { agentAddress } from './sdk-agent.ts'

const LONG = process.env['TEST_LONG'] !== undefined
const LOST = LONG ? 10_000 : 200
/**
 * Each of the two other nodes has half as many: what it has doubles. In a cluster of three equal nodes it would grow by
 * half, so this asks for more, and a node that had none would not be in normal service.
 */
const OWN = LOST / 2
/** One process could not answer the heartbeats of all agents while they connect. */
const OF_PROCESS = LONG ? 2500 : 200
const PROGRAM = join(import.meta.dirname, 'agents-program.ts')
const ROOM = {
  // All agents have one credential, of one owner.
  ADIT_CREDENTIAL_SESSIONS: String(4 * LOST),
  ADIT_CREDENTIAL_TUNNELS: String(4 * LOST),
  ADIT_OWNER_SESSIONS: String(4 * LOST),
  ADIT_OWNER_TUNNELS: String(4 * LOST),
  // As servers run: the test would need its time for reading what 10,000 agents do.
  ...(LONG && { ADIT_LOG_LEVEL: 'info' }),
}
/** For a busy machine; a test that does not end has more than all of them. */
const ALL_BACK = LONG ? 600_000 : SOON
const TIMEOUT = LONG ? 1_800_000 : 240_000
/** The ticks of /proc in a second. */
const TICKS = 100

const pidOf = ({ process: { child } }: Node): number => child.pid ?? 0

/** Megabytes in memory: now, and at most since `forgetPeak`. */
function memoryOf(node: Node): { readonly now: number; readonly most: number } {
  const status = readFileSync(`/proc/${pidOf(node)}/status`, 'utf8')
  const read = (name: string): number =>
    Math.round(Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024)
  return { now: read('VmRSS'), most: read('VmHWM') }
}

const forgetPeak = (node: Node): void => writeFileSync(`/proc/${pidOf(node)}/clear_refs`, '5')

/** Seconds of processor time of a process, and those of the whole machine. */
function secondsOf(pid: number): number {
  const [, figures = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const [user = 0, system = 0] = figures.split(' ').slice(11).map(Number)
  return (user + system) / TICKS
}
function secondsOfMachine(): number {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  const [user = 0, nice = 0, system = 0] = line.split(/ +/).slice(1).map(Number)
  return (user + nice + system) / TICKS
}

test(
  'CLU-10 many agents that lose their node at once are back at the others, which have agents of their own',
  { timeout: TIMEOUT },
  async t => {
    await using cluster = await TestCluster.empty()
    for (let count = 0; count < 3; count++) await cluster.add(undefined, ROOM)
    const [lost, ...others] = cluster.nodes as [Node, Node, Node]
    for (const node of cluster.nodes) await untilStates(node, ['live', 'live', 'live'])
    const ids = await Promise.all(others.map(node => idOf(node, node)))

    using programs = new DisposableStack()
    const started: ChildProcess[] = []
    const start = async (nodes: readonly Node[], count: number): Promise<void> => {
      for (let left = count; left > 0; left -= OF_PROCESS) {
        const child = programs.adopt(fork(PROGRAM), it => void it.kill())
        started.push(child)
        const job: AgentsJob = {
          addresses: nodes.map(agentAddress),
          authtoken: cluster.authtoken,
          count: Math.min(left, OF_PROCESS),
        }
        child.send(job)
        assert.deepEqual(await once(child, 'message'), [{}, undefined])
      }
    }
    const signedIn = performance.now()
    await Promise.all(others.flatMap(node => [start([node], OWN), start([lost, node], LOST / 2)]))
    t.diagnostic(`${LOST + 2 * OWN} agents signed in within ${Math.round(performance.now() - signedIn)} ms`)

    const untilEach = (agents: number): Promise<unknown> =>
      until(() => nodesOf(others[0] ?? assert.fail()), {
        what: `both nodes have ${agents} agents`,
        withinMs: ALL_BACK,
        fits: nodes =>
          ids.every(id =>
            nodes.some(node => node.id === id && node.agents === agents && node.tunnels === agents),
          ),
      })
    await untilEach(OWN)
    const normal = others.map(memoryOf)
    others.forEach(forgetPeak)
    const used = () => ({
      nodes: others.map(node => secondsOf(pidOf(node))).reduce((sum, each) => sum + each, 0),
      agents: started.map(({ pid = 0 }) => secondsOf(pid)).reduce((sum, each) => sum + each, 0),
      machine: secondsOfMachine(),
    })
    const before = used()
    const begun = performance.now()
    await cluster.end(lost, 'SIGKILL')
    await untilEach(OWN + LOST / 2)
    t.diagnostic(`${LOST} agents were back after ${Math.round(performance.now() - begun)} ms`)
    const after = used()
    const shares = (Object.keys(before) as (keyof typeof before)[]).map(
      name => `${name} ${(after[name] - before[name]).toFixed(1)} s`,
    )
    t.diagnostic(`processor time meanwhile: ${shares.join(', ')}`)
    for (const [index, node] of others.entries()) {
      const { now = 0 } = normal[index] ?? {}
      const { most } = memoryOf(node)
      t.diagnostic(`${now} MB before, ${most} MB at most: ${(most / now).toFixed(2)}`)
      assert.ok(most <= 2 * now, `${most} MB after ${now} MB`)
    }
  },
)
