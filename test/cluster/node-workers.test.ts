import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { freePort } from '../support/free-ports.ts'
import { childrenOf, firstProcessOf, isAlive, workersOf } from '../support/processes.ts'
import { until } from '../support/until.ts'
import { type Node, nodesOf, SOON, startService, TestCluster, untilStates, visit } from './cluster.ts'
import { idOf, load, serveEverywhere } from './load.ts'
import { SdkAgent } from './sdk-agent.ts'

const pidOf = ({ process: { child } }: Node): number => child.pid ?? 0

/** So many are spread over all workers. */
const visits = (node: Node, name: string) =>
  Promise.all(Array.from({ length: 20 }, async () => (await visit(node, name)).status))

const untilServed = (node: Node, name: string): Promise<unknown> =>
  until(() => visits(node, name), {
    what: `every worker of ${node.host} serves ${name}`,
    withinMs: SOON,
    fits: found => found.every(status => status === 200),
  })

const tunnelsAt = async ({ process: { api } }: Node): Promise<string[]> =>
  (await api.get('/tunnels')).body.tunnels.map(({ id }: { id: string }) => id)

const sessionAt = async ({ process: { api } }: Node): Promise<string> =>
  (await api.get('/tunnel_sessions')).body.tunnel_sessions[0].id

suite('a cluster of two nodes with two workers each', { timeout: 900_000 }, () => {
  let cluster: TestCluster
  before(async () => {
    cluster = await TestCluster.empty()
    for (let count = 0; count < 2; count++)
      await cluster.add(undefined, { ADIT_WORKERS: '2', ADIT_API_ADDR: `127.0.0.1:${await freePort()}` })
  })
  after(() => cluster[Symbol.asyncDispose]())

  test('serves an agent with one connection at every worker, and lists and counts it everywhere', async () => {
    const [first, second] = [cluster.at(0), cluster.at(1)]
    await using agent = await SdkAgent.start([first], cluster.authtoken)
    const name = new URL(agent.url).hostname
    for (const node of cluster.nodes) {
      await untilServed(node, name)
      await until(() => nodesOf(node), {
        withinMs: SOON,
        fits: nodes =>
          nodes
            .map(({ agents }) => String(agents))
            .toSorted()
            .join() === '0,1',
      })
      assert.equal((await tunnelsAt(node)).length, 1)
      const link = await until(
        async () => (await node.process.api.get(`/tunnel_sessions/${await sessionAt(node)}/link`)).body,
        { withinMs: SOON, what: 'a round trip', fits: ({ round_trip_ms: measured }) => measured > 0 },
      )
      assert.equal(link.connections, 1)
    }
    const { requestId } = await visit(second, name)
    await until(async () => (await first.process.api.get(`/requests/${requestId}`)).status === 200, {
      withinMs: SOON,
    })
    const metrics = async (): Promise<string> => (await fetch(`${second.process.api.url}/metrics`)).text()
    await until(
      async () => /^adit_cluster_forwards_total\{result="connected"\} [1-9]/m.test(await metrics()),
      {
        withinMs: SOON,
      },
    )
  })

  test('an agent signs in at any worker of another node with a credential that was just created', async () => {
    const [first, second] = cluster.nodes as [Node, Node]
    const { body } = await first.process.api.post('/credentials', {})
    const agents = await Promise.all(
      Array.from({ length: 4 }, () => SdkAgent.start([second], String(body.token))),
    )
    for (const agent of agents) await agent[Symbol.asyncDispose]()
  })

  test('the loss of the first process of a node is not noticed at any node', async () => {
    const [first] = cluster.nodes as [Node]
    await using agent = await SdkAgent.start([first], cluster.authtoken)
    const name = new URL(agent.url).hostname
    for (const node of cluster.nodes) await untilServed(node, name)
    const listed = await tunnelsAt(first)
    const id = await idOf(first, cluster.at(1))
    const workers = workersOf(pidOf(first))
    await using requests = load(cluster.nodes, { name, received: new Set() })
    const lost = await until(() => firstProcessOf(pidOf(first)))
    process.kill(lost, 'SIGKILL')
    await until(() => !isAlive(lost))
    await until(() => first.process.output().includes('gateway processes taken over'), { withinMs: SOON })
    await until(() => tunnelsAt(first).catch(() => []), {
      withinMs: SOON,
      fits: found => found.join() === listed.join(),
    })
    // A change at the other node takes effect at the workers, and new addresses are assigned.
    await using later = await SdkAgent.start([first], cluster.authtoken)
    for (const node of cluster.nodes) {
      await untilServed(node, new URL(later.url).hostname)
      await until(() => tunnelsAt(node), { withinMs: SOON, fits: ({ length }) => length === 2 })
    }
    const { sent, failed } = await requests.stop()
    assert.deepEqual(failed, [], `of ${sent}`)
    assert.deepEqual(workersOf(pidOf(first)), workers)
    assert.equal(await idOf(first, cluster.at(1)), id)
  })

  test('commands reach an agent from every node, and the loss of a worker, and of a node, fails no request at the other node', async () => {
    const [lost, other] = [cluster.at(1), cluster.at(0)]
    let stops = 0
    await using served = await serveEverywhere(cluster, [lost, other], { stop: () => void stops++ })
    for (const { process: server } of cluster.nodes)
      assert.equal((await server.api.post(`/tunnel_sessions/${served.agent.sessionId}/stop`)).status, 204)
    assert.equal(stops, 2)
    await using requests = load([other, other], served, { isAbrupt: true })
    const [worker = 0] = workersOf(pidOf(lost))
    process.kill(worker, 'SIGKILL')
    await until(() => workersOf(pidOf(lost)).length === 2 && !workersOf(pidOf(lost)).includes(worker))
    const processes = childrenOf(pidOf(lost))
    await cluster.end(lost, 'SIGKILL')
    // Their output is closed a moment before they are gone.
    await until(() => !processes.some(isAlive))
    await untilStates(other, ['live', 'expired'])
    const { sent, failed } = await requests.stop()
    assert.deepEqual(failed, [], `of ${sent}`)
    await cluster.add(lost)
    await untilStates(other, ['live', 'live', 'expired'])
  })

  test('SIGUSR2 replaces a node and its workers, and fails no request at the other node', async () => {
    const [other, replaced] = [cluster.at(0), cluster.at(1)]
    await using served = await serveEverywhere(cluster, [replaced, other])
    const id = await idOf(replaced, other)
    const processes = childrenOf(pidOf(replaced))
    await using requests = load([other, other], served)
    process.kill(pidOf(replaced), 'SIGUSR2')
    await until(() => processes.every(pid => !isAlive(pid)), {
      what: 'the processes of the node have exited',
      withinMs: SOON,
    })
    // The next ones are another node, beside the one that they replace.
    assert.notEqual(await idOf(replaced, other), id)
    for (const node of [replaced, other]) await untilServed(node, served.name)
    const { sent, failed } = await requests.stop()
    assert.deepEqual(failed, [], `of ${sent}`)
    assert.equal(workersOf(pidOf(replaced)).length, 2)
  })

  test('a suspended node is fenced, and joins again by itself', async () => {
    const [other, suspended] = [cluster.at(0), cluster.at(1)]
    using service = await startService('new')
    const url = 'http://fenced.adit.localhost'
    await using agent = await SdkAgent.start([suspended], cluster.authtoken, { URL: url })
    assert.match(agent.url, /fenced/)
    const id = await idOf(suspended, other)
    const processes = [pidOf(suspended), ...childrenOf(pidOf(suspended))]
    const signal = (name: NodeJS.Signals): void => processes.forEach(pid => void process.kill(pid, name))
    signal('SIGSTOP')
    try {
      await until(() => nodesOf(other), {
        withinMs: SOON,
        fits: nodes => nodes.some(node => node.id === id && node.state === 'expired'),
      })
      await using successor = await cluster.connect([other])
      await until(() => successor.listen({ forwardTo: service.port, url }).catch(() => undefined), {
        withinMs: SOON,
      })
      signal('SIGCONT')
      // Until it knows the new owner it may refuse, but never serve the old one, whose response is another.
      await until(() => visit(suspended, 'fenced.adit.localhost'), {
        withinMs: SOON,
        fits: ({ status, body }) => {
          assert.notEqual(body, 'here')
          return status === 200 && body === 'new'
        },
      })
      await untilServed(suspended, 'fenced.adit.localhost')
    } finally {
      signal('SIGCONT')
    }
  })

  test('a drained node exits with 0 and fails no request at the other node', async () => {
    const [other, drained] = [cluster.at(0), cluster.at(1)]
    await untilStates(other, ['live', 'live', 'expired'])
    await using served = await serveEverywhere(cluster, [drained, other])
    await using requests = load([other, other], served)
    assert.equal(await cluster.end(drained, 'SIGTERM'), 0)
    await untilServed(other, served.name)
    const { sent, failed } = await requests.stop()
    assert.deepEqual(failed, [], `of ${sent}`)
  })
})
