import { copyFileSync, readFileSync, rmSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request as newRequest, type RequestOptions } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect } from 'adit'
import type { AgentOptions } from '#agent/options.ts'
import { disposable } from '../agent/support.ts'
import { newFolder } from '../support/folder.ts'
import { freePort } from '../support/free-ports.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { spawnServer, type Process } from '../support/server.ts'
import { until } from '../support/until.ts'

/** The program of an earlier version, which some nodes then run: test/outside/earlier.ts. */
export const EARLIER = process.env['TEST_EARLIER']

/** A loaded machine starts a server in this time. */
export const SOON = 90_000

interface NodeView {
  readonly id: string
  readonly state: string
  readonly agents: number
  readonly tunnels: number
  readonly version: string
}

/** A server of the cluster, on an address of loopback of its own. */
export interface Node {
  readonly process: Process
  readonly folder: string
  readonly host: string
  readonly environment: Record<string, string>
}

type TestAgent = Awaited<ReturnType<typeof connect>>

/** Several servers on one PostgreSQL, each a process of its own. */
export class TestCluster implements AsyncDisposable {
  readonly nodes: Node[] = []
  readonly postgres: TestPostgres
  readonly #database: string
  #hosts = 10
  readonly #places = new Set<string>()

  private constructor(postgres: TestPostgres, database: string) {
    this.postgres = postgres
    this.#database = database
  }

  static async start(count: number): Promise<TestCluster> {
    const cluster = await TestCluster.empty()
    // The first one makes the keys that the others join with.
    await cluster.add()
    await Promise.all(Array.from({ length: count - 1 }, () => cluster.add()))
    return cluster
  }

  static async empty(): Promise<TestCluster> {
    const postgres = await startPostgres()
    return new TestCluster(postgres, await postgres.newDatabase())
  }

  get database(): string {
    return this.#database
  }

  /** Starts another node; with the place of an earlier one, it takes over its addresses. */
  async add(
    place?: Pick<Node, 'host' | 'environment'>,
    more: Record<string, string> = {},
    path?: string,
  ): Promise<Node> {
    const [first] = this.nodes
    const folder = newFolder()
    if (first)
      for (const file of ['master.key', 'api-key', 'authtoken'])
        copyFileSync(join(first.folder, file), join(folder, file))
    const host = place?.host ?? `127.0.0.${++this.#hosts}`
    const environment = place?.environment ?? {
      ...more,
      ADIT_DATABASE_URL: more['ADIT_DATABASE_URL'] ?? this.#database,
      ADIT_HTTP_ADDR: `${host}:${await freePort()}`,
      ADIT_AGENT_ADDR: `${host}:${await freePort()}`,
      ADIT_PEER_ADDR: more['ADIT_PEER_ADDR'] ?? `${host}:${await freePort()}`,
      ADIT_PUBLIC_ADDRESSES: host,
      ADIT_TCP_HOST: host,
      // Neither load balancers nor DNS resolvers are in front of it.
      ADIT_DRAIN_WAIT: '0',
    }
    const process = await spawnServer(
      folder,
      environment,
      path ?? this.#programFor(host, place !== undefined),
    )
    const node = { process, folder, host, environment }
    this.nodes.push(node)
    return node
  }

  /**
   * With an earlier version: a node that is started again is of this one, as in an upgrade; before, those with a place of
   * their own are of the earlier one, and of the others every second, beginning with the first, which makes the schema.
   */
  #programFor(host: string, isPlaced: boolean): string | undefined {
    if (EARLIER === undefined || this.#places.has(host)) return undefined
    this.#places.add(host)
    return isPlaced || this.#places.size % 2 === 1 ? EARLIER : undefined
  }

  get first(): Node {
    return this.at(0)
  }

  at(index: number): Node {
    const node = this.nodes[index]
    if (node === undefined) throw new Error(`there is no node ${index}`)
    return node
  }

  /** Ends a node and forgets it. */
  async end(node: Node, signal: 'SIGTERM' | 'SIGKILL'): Promise<number | null> {
    this.nodes.splice(this.nodes.indexOf(node), 1)
    const code = await node.process.end(signal)
    rmSync(node.folder, { recursive: true, force: true })
    return code
  }

  /** An agent that knows all nodes, or only one. */
  async connect(
    nodes: readonly Node[] = this.nodes,
    options: AgentOptions = {},
  ): Promise<TestAgent & AsyncDisposable> {
    const [first] = nodes
    const agent = await connect({
      server: nodes
        .map(({ process }) => `${process.bound.agent?.host}:${process.bound.agent?.port}`)
        .join(','),
      authtoken: this.authtoken,
      ca: join(first?.folder ?? '', 'ca.pem'),
      retry: { baseMs: 50, capMs: 500 },
      ...options,
    })
    return disposable(agent)
  }

  get authtoken(): string {
    return readToken(this.first.folder)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.nodes].map(node => this.end(node, 'SIGKILL')))
    await this.postgres.stop()
  }
}

const readToken = (folder: string): string => readFileSync(join(folder, 'authtoken'), 'utf8').trim()

export const nodesOf = async ({ process }: Node): Promise<NodeView[]> =>
  (await process.api.get('/nodes')).body.nodes as NodeView[]

/** Waits until a node sees the others in these states. */
export const untilStates = (node: Node, states: readonly string[]): Promise<NodeView[]> =>
  until(() => nodesOf(node), {
    what: `${node.host} sees nodes that are ${states.join(', ')}`,
    withinMs: SOON,
    fits: found =>
      found
        .map(({ state }) => state)
        .toSorted()
        .join() === [...states].toSorted().join(),
  })

/** Values of a metric at all nodes, by the labels that each has. */
export async function valuesAt(
  nodes: readonly Node[],
  metric: string,
): Promise<[labels: string, value: number][]> {
  const texts = nodes.map(async ({ process: { api } }) => (await fetch(`${api.url}/metrics`)).text())
  const samples = new RegExp(`^${metric}\\{(.*)\\} (\\S+)$`, 'gm')
  return (await Promise.all(texts)).flatMap(text =>
    Array.from(text.matchAll(samples), ([, labels = '', value]): [string, number] => [labels, Number(value)]),
  )
}

export interface Visit {
  readonly status: number | undefined
  readonly body: string
  readonly requestId: string
}

/** One request on a connection of its own. Rejects if there is no response. */
export function visit(node: Node, host: string, options: RequestOptions = {}): Promise<Visit> {
  const { bound } = node.process
  return visitAt({ host: bound.http?.host, port: bound.http?.port, agent: false, ...options }, host)
}

/** One request for a name to any address. Rejects if there is no response. */
export async function visitAt(options: RequestOptions, name: string): Promise<Visit> {
  const { headers, method = 'GET' } = options
  const request = newRequest({ ...options, headers: { host: name, ...(headers as Record<string, string>) } })
  request.end(method === 'POST' ? 'an order' : undefined)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let body = ''
  for await (const chunk of response.setEncoding('utf8')) body += String(chunk)
  return { status: response.statusCode, body, requestId: String(response.headers['adit-request-id']) }
}

/** A service on this machine, which remembers the numbers of the requests that it got. */
export async function startService(text = 'here') {
  const received = new Set<string>()
  const service = createServer((request, answer) => {
    received.add(String(request.headers['x-number']))
    answer.end(text)
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  return {
    port: (service.address() as AddressInfo).port,
    received,
    [Symbol.dispose]: () => void service.close(),
  }
}
