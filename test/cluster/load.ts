import type { RequestOptions } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import type { Commands } from '#agent/options.ts'
import { until } from '../support/until.ts'
import { type Node, nodesOf, SOON, startService, type TestCluster, type Visit, visit } from './cluster.ts'

/** The only agent of the cluster has a connection with each of two nodes. */
export const untilTwoConnections = (cluster: TestCluster): Promise<unknown> =>
  until(() => nodesOf(cluster.first), {
    what: 'the agent is connected to two nodes',
    withinMs: SOON,
    fits: nodes => nodes.filter(({ agents, state }) => agents === 1 && state === 'live').length === 2,
  })

/** A request is sent so often at each node: more of them would load the machine, and show no more. */
const PACE_MS = 40

const SENT = 'after this request was sent to it'

interface Load extends AsyncDisposable {
  /** Ends it; `failed` has all that must not fail. */
  stop(): Promise<{ sent: number; failed: string[] }>
}

interface Visited {
  readonly name: string
  /** The numbers of the requests that reached the service. */
  readonly received: ReadonlySet<string>
}

/** Sends requests for a name, by a way of its own to the nodes. */
export interface Client {
  readonly way: string
  readonly send: (options: RequestOptions) => Promise<Visit>
}

interface LoadOptions {
  /** A node or link is lost with the requests in it. */
  readonly isAbrupt?: boolean
  readonly paceMs?: number
}

/** Requests to these nodes, each on a new connection, until they are stopped. */
export const load = (nodes: readonly Node[], visited: Visited, options: LoadOptions = {}): Load =>
  loadFrom(
    nodes.map(node => ({ way: node.host, send: request => visit(node, visited.name, request) })),
    visited,
    options,
  )

/**
 * Requests of these clients, until they are stopped. GET never fails. POST never does before the service has got it;
 * where a node or link is lost with the requests in it (`isAbrupt`), that is unknown, so that one that was sent is not
 * sent again, and its client gets that reason.
 */
export function loadFrom(
  clients: readonly Client[],
  { received }: Pick<Visited, 'received'>,
  { isAbrupt = false, paceMs = PACE_MS }: LoadOptions = {},
): Load {
  let isStopped = false
  let sent = 0
  const failed: string[] = []
  const send = async (client: Client): Promise<void> => {
    const number = String(++sent)
    const method = sent % 2 === 0 ? 'POST' : 'GET'
    const { status, body } = await client
      .send({ method, headers: { 'x-number': number } })
      .catch((error: unknown) => ({ status: 0, body: String(error) }))
    const isKnown = received.has(number) || (isAbrupt && status === 502 && body.includes(SENT))
    if (status !== 200 && !(method === 'POST' && isKnown))
      failed.push(`${method} at ${client.way}: ${status} ${body.slice(0, 300)}`)
  }
  const running = clients.map(async client => {
    for (; !isStopped; await pause(paceMs)) await send(client)
  })
  const stop = async (): Promise<{ sent: number; failed: string[] }> => {
    isStopped = true
    await Promise.all(running)
    return { sent, failed }
  }
  return {
    stop,
    // A failed test must not leave them running.
    async [Symbol.asyncDispose]() {
      await stop()
    },
  }
}

/** An agent with a tunnel that every node serves. */
export async function serveEverywhere(cluster: TestCluster, nodes: readonly Node[], commands: Commands = {}) {
  await using opened = new AsyncDisposableStack()
  const service = opened.use(await startService())
  const agent = opened.use(await cluster.connect(nodes, { commands }))
  const tunnel = await agent.listen({ forwardTo: service.port, proto: 'http' })
  const name = new URL(tunnel.url).hostname
  await untilTwoConnections(cluster)
  for (const node of cluster.nodes)
    await until(async () => (await visit(node, name)).status === 200, { withinMs: SOON })
  const running = opened.move()
  return {
    agent,
    name,
    received: service.received,
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** Its id, once another node knows its address; a node that was killed is listed with the same one for a while. */
export const idOf = (node: Node, seenFrom: Node): Promise<string> =>
  until(
    async () => {
      const nodes = (await seenFrom.process.api.get('/nodes')).body.nodes as {
        id: string
        state: string
        public_addresses: string[]
      }[]
      return nodes.find(each => each.public_addresses[0] === node.host && each.state !== 'expired')?.id
    },
    { what: `${seenFrom.host} lists ${node.host}`, withinMs: SOON },
  )
