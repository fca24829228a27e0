import { Agent, request } from 'node:http'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Node } from '../../../test/cluster/cluster.ts'
import { BindingAgent } from '../binding-agent.ts'
import { rounds } from '../interleave.ts'
import type { Row } from '../row.ts'
import { portOf, startNodes } from './nodes.ts'

const CHANGES_PER_ROUND = 40

/** The status of one request at a node, on a connection that is kept. */
async function statusAt(port: number, host: string, agent: Agent): Promise<number> {
  const sent = request({ host: '127.0.0.1', port, agent, headers: { host } }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  return response.statusCode ?? 0
}

/** Milliseconds until every node knows the tunnel, whose agent closes each connection. */
async function untilKnown(nodes: readonly Node[], host: string, agent: Agent): Promise<number> {
  const begun = performance.now()
  const known = nodes.map(async node => {
    while ((await statusAt(portOf(node, 'http'), host, agent)) === 404);
  })
  await Promise.all(known)
  return performance.now() - begun
}

const share = (times: readonly number[], part: number): number =>
  times.toSorted((one, other) => one - other)[Math.ceil(part * times.length) - 1] ?? Number.NaN

function* rowsOf(name: string, times: readonly number[]): Generator<Row> {
  const about = { ours: `${times.length} times`, peer: '', unit: 'ms' } as const
  yield { ...about, name: `${name}, p50`, figure: share(times, 0.5), target: { atMost: 50 } }
  yield { ...about, name: `${name}, p99`, figure: share(times, 0.99), target: { atMost: 500 } }
}

/** From the answer to an agent or an API client at one node, until the two others act accordingly. */
export async function* visibility(): AsyncGenerator<Row> {
  await using parts = new AsyncDisposableStack()
  const cluster = parts.use(await startNodes(3))
  const kept = parts.adopt(new Agent({ keepAlive: true }), it => it.destroy())
  const changes = rounds * CHANGES_PER_ROUND
  const { first, nodes, authtoken } = cluster
  const others = nodes.slice(1)
  const agent = parts.use(await BindingAgent.signIn(portOf(first, 'agent'), authtoken))
  const opened: number[] = []
  for (let change = 0; change < changes; change++) {
    const host = `seen-${change}.adit.localhost`
    const id = await agent.bind(host)
    opened.push(await untilKnown(others, host, kept))
    await agent.unbind(id)
  }
  yield* rowsOf('a tunnel opened at one node, until two others know it', opened)
}
