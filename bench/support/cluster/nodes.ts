import { join } from 'node:path'
import { freePort } from '../../../test/support/free-ports.ts'
import { type Node, TestCluster, untilStates } from '../../../test/cluster/cluster.ts'
import { RunningProgram, splitArguments } from '../processes.ts'

const program = join(import.meta.dirname, '../../../bin/adit')

export const portOf = (node: Node, listener: 'http' | 'https' | 'agent'): number =>
  node.process.bound[listener]?.port ?? 0

export const pidOf = ({ process: { child } }: Node): number => child.pid ?? -1

/** Nodes as they run in production, all on one address, because the load generators know only that. */
export async function startNodes(
  count: number,
  more: (index: number) => Record<string, string> = () => ({}),
): Promise<TestCluster> {
  const cluster = await TestCluster.empty()
  for (let index = 0; index < count; index++) {
    const host = '127.0.0.1'
    const environment = {
      ADIT_DATABASE_URL: cluster.database,
      ADIT_PEER_ADDR: `${host}:${await freePort()}`,
      ADIT_PUBLIC_ADDRESSES: host,
      ADIT_LOG_LEVEL: 'error',
      ADIT_DRAIN_WAIT: '0',
      ...more(index),
    }
    await cluster.add({ host, environment })
  }
  for (const node of cluster.nodes) await untilStates(node, Array<string>(count).fill('live'))
  return cluster
}

/** An agent in a process of its own, connected to one node. */
export async function startAgent(cluster: TestCluster, node: Node, line: string): Promise<RunningProgram> {
  const agent = new RunningProgram(program, splitArguments(line), {
    ADIT_SERVER_ADDR: `127.0.0.1:${portOf(node, 'agent')}`,
    ADIT_AUTHTOKEN: cluster.authtoken,
    ADIT_CA_FILE: join(node.folder, 'ca.pem'),
  })
  await agent.until('its address', () => /https?:\/\/\S+/.test(agent.output))
  return agent
}
