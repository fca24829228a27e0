import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../support/free-ports.ts'
import { until } from '../support/until.ts'
import { type Node, nodesOf, SOON, TestCluster, untilStates, valuesAt, visit } from './cluster.ts'
import { idOf, load, serveEverywhere } from './load.ts'
import { SdkAgent } from './sdk-agent.ts'
import { Wire } from './wire.ts'

const LONG = process.env['TEST_LONG'] !== undefined
const CUT_MS = LONG ? 60_000 : 0
/** A link without an answer is given up after 5 seconds. */
const PEERS_CUT_MS = LONG ? 60_000 : 7000

/** The tunnels with an address, as a node lists them. */
async function ownersAt({ process: { api } }: Node, url: string): Promise<string[]> {
  const tunnels = (await api.get('/tunnels')).body.tunnels as {
    public_url: string
    tunnel_session: { id: string }
  }[]
  return tunnels
    .filter(({ public_url: shown }) => shown.startsWith(url))
    .map(({ tunnel_session: { id } }) => id)
}

/** The nodes that have a connection with the only agent. */
async function holdersIn(cluster: TestCluster): Promise<Node[]> {
  const holding = (await nodesOf(cluster.first)).filter(({ agents }) => agents > 0).map(({ id }) => id)
  const ids = await Promise.all(cluster.nodes.map(node => idOf(node, cluster.first)))
  return cluster.nodes.filter((_, index) => holding.includes(ids[index] ?? ''))
}

suite('a cluster whose clocks are an hour apart, and whose network a test can cut', () => {
  let cluster: TestCluster
  let database: Wire
  const peers: Wire[] = []

  /** A node that the others reach through a wire. */
  const addWired = async (index: number, more: Record<string, string> = {}): Promise<Node> => {
    const [host, port] = [`127.0.0.${11 + index}`, await freePort()]
    const wire = await Wire.to({ host, port })
    peers.push(wire)
    return cluster.add(undefined, {
      ADIT_PEER_ADDR: `${host}:${port}`,
      ADIT_PEER_URL: wire.address,
      ...more,
    })
  }

  before(async () => {
    cluster = await TestCluster.empty()
    const url = new URL(cluster.database)
    database = await Wire.to({ path: join(url.searchParams.get('host') ?? '', '.s.PGSQL.5432') })
    await addWired(0)
    await addWired(1, { NODE_OPTIONS: `--import=${join(import.meta.dirname, 'clock-ahead.ts')}` })
    await addWired(2, {
      ADIT_DATABASE_URL: `postgresql://postgres@${database.address}${url.pathname}`,
      ADIT_RECONNECT_WAIT: '60',
    })
  })
  after(async () => {
    for (const wire of [database, ...peers]) wire.mend()
    await cluster[Symbol.asyncDispose]()
    for (const wire of [database, ...peers]) await wire[Symbol.asyncDispose]()
  })

  const untilServed = async (name: string): Promise<void> => {
    for (const node of cluster.nodes)
      await until(async () => (await visit(node, name)).status === 200, {
        what: `${node.host} serves ${name}`,
        withinMs: SOON,
      })
  }

  /** Other nodes list it as live before it knows itself that its lease is renewed. */
  const untilAssigning = async (node: Node): Promise<void> => {
    const agent = await until(() => SdkAgent.start([node], cluster.authtoken).catch(() => undefined), {
      what: `${node.host} assigns addresses`,
      withinMs: SOON,
    })
    await agent[Symbol.asyncDispose]()
  }

  test('CLU-07 clocks of nodes that are an hour apart have no effect', async () => {
    const { body } = await cluster.first.process.api.get('/nodes')
    const times = (body.nodes as { started_at: string }[]).map(node => Date.parse(node.started_at))
    assert.ok(Math.max(...times) - Math.min(...times) >= 3_600_000, times.join())
    for (const node of cluster.nodes) await untilStates(node, ['live', 'live', 'live'])
    for (const node of cluster.nodes) {
      await using agent = await SdkAgent.start([node], cluster.authtoken)
      await untilServed(new URL(agent.url).hostname)
    }
  })

  test('CLU-05 a node without its database serves, and converges afterwards', async t => {
    const [first, , third] = cluster.nodes as [Node, Node, Node]
    await using served = await serveEverywhere(cluster, [third, first])
    const id = await idOf(third, first)
    await using requests = load(cluster.nodes, served)
    database.cut()
    await until(() => nodesOf(first), {
      what: 'the lease of the node ends',
      withinMs: SOON,
      fits: nodes => nodes.some(node => node.id === id && node.state === 'expired'),
    })
    await pause(CUT_MS)
    const refused = await third.process.api.post('/credentials', {})
    assert.equal(refused.status, 503)
    assert.match(refused.body.msg, /./)
    database.mend()
    const mended = performance.now()
    for (const node of cluster.nodes) await untilStates(node, ['live', 'live', 'live'])
    t.diagnostic(`converged after ${Math.round(performance.now() - mended)} ms`)
    const { sent, failed } = await requests.stop()
    assert.deepEqual(failed, [], `of ${sent}`)
    await untilAssigning(third)
  })

  test('CLU-05 a request that reaches a node after its agent has left is sent on once the agent is found', async () => {
    const [first, second, third] = cluster.nodes as [Node, Node, Node]
    const agent = await SdkAgent.start([first], cluster.authtoken)
    const url = agent.url.replace(/:\d+$/, '')
    await untilServed(new URL(url).hostname)
    // From now on the third node does not learn where the agent is.
    database.cut()
    try {
      await agent[Symbol.asyncDispose]()
      await using moved = await until(
        () => SdkAgent.start([second], cluster.authtoken, { URL: url }).catch(() => undefined),
        { what: 'the agent is at the second node', withinMs: SOON },
      )
      const refusals = async (): Promise<number | undefined> =>
        new Map(await valuesAt([third], 'adit_cluster_forwards_total')).get('result="failed"')
      const earlier = await refusals()
      const posted = visit(third, new URL(url).hostname, { method: 'POST' })
      const refused = until(async () => (await refusals()) !== earlier, {
        what: 'the first node refuses the request',
        withinMs: SOON,
      })
      await Promise.race([refused, posted])
      database.mend()
      const { status, body } = await posted
      assert.equal(status, 200, body)
      await refused
      assert.equal(moved.requests, 1)
    } finally {
      database.mend()
    }
    for (const node of cluster.nodes) await untilStates(node, ['live', 'live', 'live'])
    await untilAssigning(third)
  })

  test('CLU-05 nodes without their peers serve the agents that they have, and give a reason for the rest', async t => {
    const [first, second, third] = cluster.nodes as [Node, Node, Node]
    await using served = await serveEverywhere(cluster, [third, first])
    const holders = await holdersIn(cluster)
    await using elsewhere = await SdkAgent.start([second], cluster.authtoken)
    await untilServed(new URL(elsewhere.url).hostname)
    {
      // The others can reach the agent through its other connection.
      await using requests = load(cluster.nodes, served, { isAbrupt: true })
      peers[2]?.cut()
      await pause(PEERS_CUT_MS)
      const { sent, failed } = await requests.stop()
      assert.deepEqual(failed, [], `of ${sent}`)
    }
    await using requests = load(holders, served, { isAbrupt: true })
    for (const wire of peers) wire.cut()
    await pause(PEERS_CUT_MS)
    const refused = await visit(first, new URL(elsewhere.url).hostname)
    assert.ok([502, 503, 504].includes(refused.status ?? 0), `${refused.status}`)
    assert.match(refused.body, /\S/)
    assert.equal((await visit(second, new URL(elsewhere.url).hostname)).status, 200)
    for (const wire of peers) wire.mend()
    const mended = performance.now()
    for (const name of [served.name, new URL(elsewhere.url).hostname]) await untilServed(name)
    t.diagnostic(`converged after ${Math.round(performance.now() - mended)} ms`)
    const { sent, failed } = await requests.stop()
    assert.deepEqual(failed, [], `of ${sent}`)
  })

  test('CLU-05 a node that is cut off from everything serves its agents, and converges afterwards', async () => {
    const [first, , third] = cluster.nodes as [Node, Node, Node]
    await using served = await serveEverywhere(cluster, [third, first])
    const id = await idOf(third, first)
    await using requests = load(await holdersIn(cluster), served, { isAbrupt: true })
    for (const wire of [database, ...peers]) wire.cut()
    await until(() => nodesOf(first), {
      withinMs: SOON,
      fits: nodes => nodes.some(node => node.id === id && node.state === 'expired'),
    })
    await pause(CUT_MS)
    for (const wire of [database, ...peers]) wire.mend()
    for (const node of cluster.nodes) await untilStates(node, ['live', 'live', 'live'])
    await untilServed(served.name)
    const { sent, failed } = await requests.stop()
    assert.deepEqual(failed, [], `of ${sent}`)
    await untilAssigning(third)
  })

  test('CLU-05 an agent at a node that the others cannot reach keeps its address', async () => {
    const [first, , third] = cluster.nodes as [Node, Node, Node]
    await using agent = await SdkAgent.start([third], cluster.authtoken)
    const url = agent.url.replace(/:\d+$/, '')
    await untilServed(new URL(url).hostname)
    peers[2]?.cut()
    try {
      // Of the same credential: it would replace an agent that does not respond.
      await assert.rejects(SdkAgent.start([first], cluster.authtoken, { URL: url }), /ADIT_ERR|already/i)
      assert.equal((await visit(third, new URL(url).hostname)).status, 200)
      assert.deepEqual(await ownersAt(first, url), [agent.sessionId])
    } finally {
      peers[2]?.mend()
    }
    await untilServed(new URL(url).hostname)
  })

  test('CLU-02 an agent with one connection is back at its address, which never has two owners', async () => {
    const [first, second, lost] = cluster.nodes as [Node, Node, Node]
    await using agent = await SdkAgent.start([lost, second], cluster.authtoken)
    // The port in it is that of the node.
    const url = agent.url.replace(/:\d+$/, '')
    await untilServed(new URL(url).hostname)
    await cluster.end(lost, 'SIGKILL')
    await until(
      async () => {
        for (const node of [first, second])
          assert.ok(new Set(await ownersAt(node, url)).size <= 1, 'two owners of an address')
        return (await visit(first, new URL(url).hostname)).status === 200
      },
      { what: 'the agent is served through its next node', withinMs: SOON },
    )
    assert.equal(agent.url.replace(/:\d+$/, ''), url)
    await assert.rejects(SdkAgent.start([first], cluster.authtoken, { URL: url }), /ADIT_ERR|already/i)
    for (const node of [first, second])
      await until(() => ownersAt(node, url), {
        withinMs: SOON,
        fits: owners => owners.join() === agent.sessionId,
      })
  })
})
