import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { Resolver } from 'node:dns/promises'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { suite, test, type TestContext } from 'node:test'
import { Folder } from '../support/folder.ts'
import { freePort } from '../support/free-ports.ts'
import { resolveAt } from '../support/resolve-at.ts'
import { until } from '../support/until.ts'
import { EARLIER, SOON, startService, TestCluster, untilStates, visitAt } from './cluster.ts'
import { type Client, loadFrom, untilTwoConnections } from './load.ts'
import { type Machine, Machines } from './machines.ts'

const LONG = process.env['TEST_LONG'] !== undefined
const NODES = LONG ? 3 : 2
const HAPROXY = '/usr/sbin/haproxy'
/** One for each way to the nodes: the tests run at the same time. */
const DOMAIN = { balanced: 'balanced.test', resolved: 'resolved.test' }
/** The waits of a drain take long, so that few requests a second are enough. */
const PACE_MS = LONG ? 20 : 250

/** Where a node is started, and again after its stop. */
interface Place {
  readonly host: string
  readonly environment: Record<string, string>
  readonly path?: string | undefined
}

/** The configuration for operators, with the addresses of these nodes and what this machine lets a process open. */
function haproxyConfig(nodes: readonly Machine[]): string {
  return readFileSync(join(import.meta.dirname, '../../deploy/haproxy.cfg'), 'utf8')
    .replace('maxconn 100000', 'maxconn 1000')
    .replace(/^resolvers docker\n(?: .*\n)+/m, '')
    .replace(' init-addr none resolvers docker', '')
    .replaceAll(
      /^( {2}server node(\d)) node\d(.*)\n/gm,
      (_, server: string, number: string, rest: string) => {
        const node = nodes[Number(number) - 1]
        return node === undefined ? '' : `${server} ${node.address}${rest}\n`
      },
    )
}

async function startHaproxy({ inside }: Machine, nodes: readonly Machine[]): Promise<AsyncDisposable> {
  if (!existsSync(HAPROXY)) throw new Error('HAProxy is missing: run scripts/install-test-parts.sh.')
  const folder = new Folder()
  const file = await folder.write('haproxy.cfg', haproxyConfig(nodes))
  const [command, ...args] = [...inside, HAPROXY, '-db', '-f', file]
  const child = spawn(command, args, { stdio: 'ignore' })
  await once(child, 'spawn')
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await once(child, 'exit')
      folder[Symbol.dispose]()
    },
  }
}

/** Stops and starts one node after the other, each when the one before serves. */
async function roll(cluster: TestCluster, places: readonly Place[]): Promise<void> {
  for (const { path, ...place } of places) {
    const node = cluster.nodes.find(({ host }) => host === place.host)
    assert.equal(await cluster.end(node ?? assert.fail(), 'SIGTERM'), 0)
    await cluster.add(place, {}, path)
    for (const each of cluster.nodes) await untilStates(each, Array(NODES).fill('live'))
    await untilTwoConnections(cluster)
  }
}

interface Rolling {
  /** Where the agent connects. */
  readonly server: string
  readonly clients: (name: string) => readonly Client[]
  /** By default all. */
  readonly restarted?: readonly Place[]
}

async function rolled(
  t: TestContext,
  cluster: TestCluster,
  places: readonly Place[],
  { server, clients, restarted = places }: Rolling,
): Promise<void> {
  for (const { path, ...place } of places) await cluster.add(place, {}, path)
  for (const node of cluster.nodes) await untilStates(node, Array(NODES).fill('live'))
  using service = await startService()
  await using agent = await cluster.connect(cluster.nodes, { server })
  const tunnel = await agent.listen({ forwardTo: service.port, proto: 'http' })
  const { hostname } = new URL(tunnel.url)
  await untilTwoConnections(cluster)
  const ways = clients(hostname)
  for (const { send, way } of ways)
    await until(async () => (await send({})).status === 200, { what: `served ${way}`, withinMs: SOON })
  await using requests = loadFrom(ways, service, { paceMs: PACE_MS })
  await roll(cluster, restarted)
  const { sent, failed } = await requests.stop()
  t.diagnostic(`${sent} requests while ${restarted.length} of ${NODES} nodes were restarted`)
  assert.deepEqual(failed, [], `of ${sent}`)
}

const skip = process.getuid?.() !== 0 && 'namespaces need root'

// Both wait for most of their time, for load balancers and resolvers to notice.
suite('a rolling restart of all nodes fails no request', { concurrency: true }, () => {
  test('CLU-13 of clients and agents behind HAProxy', { skip }, async t => {
    using machines = new Machines()
    const balancer = machines.add()
    const nodes = Array.from({ length: NODES }, () => machines.add())
    await using cluster = await TestCluster.empty()
    const places = nodes.map(({ address, adit: path }): Place => {
      // As in deploy/compose.cluster.yaml, whose containers listen on all addresses.
      const environment = {
        ADIT_DOMAIN: DOMAIN.balanced,
        ADIT_DATABASE_URL: cluster.database,
        ADIT_PUBLIC_ADDRESSES: balancer.address,
        ADIT_API_ADDR: `${address}:4600`,
        ADIT_HTTP_ADDR: '0.0.0.0:8080',
        ADIT_HTTPS_ADDR: '0.0.0.0:8443',
        ADIT_AGENT_ADDR: '0.0.0.0:4443',
        ADIT_SSH_ADDR: '0.0.0.0:2222',
        ADIT_PEER_ADDR: '0.0.0.0:4500',
        ADIT_PEER_URL: `${address}:4500`,
        ADIT_DNS_ADDR: `${address}:53`,
        ADIT_PUBLIC_HTTP_PORT: '80',
        ADIT_PROXY_PROTOCOL: `${balancer.address}/32`,
        ADIT_TRUSTED_PROXIES: `${balancer.address}/32`,
      }
      return { host: address, environment, path }
    })
    await using parts = new AsyncDisposableStack()
    parts.use(await startHaproxy(balancer, nodes))
    // Here they have the address of HAProxy for the domain, not those of the nodes.
    const servers = nodes.map(({ address }) => address)
    parts.use(resolveAt(DOMAIN.balanced, servers))
    const kept = parts.adopt(new Agent({ keepAlive: true, maxSockets: 1 }), it => it.destroy())
    const at = { host: balancer.address, port: 80 }
    const clients = (name: string): Client[] => [
      { way: 'a new connection', send: options => visitAt({ ...at, ...options, agent: false }, name) },
      { way: 'a kept connection', send: options => visitAt({ ...at, ...options, agent: kept }, name) },
    ]
    await rolled(t, cluster, places, { server: `${DOMAIN.balanced}:4443`, clients })
  })

  test('CLU-14 of clients and agents that use the addresses from the DNS server', async t => {
    await using cluster = await TestCluster.empty()
    const [http, agents, peer, dns] = [await freePort(), await freePort(), await freePort(), await freePort()]
    const places = Array.from({ length: NODES }, (_, index): Place => {
      const host = `127.0.0.${11 + index}`
      const environment = {
        ADIT_DOMAIN: DOMAIN.resolved,
        ADIT_DATABASE_URL: cluster.database,
        ADIT_PUBLIC_ADDRESSES: host,
        ADIT_HTTP_ADDR: `${host}:${http}`,
        ADIT_AGENT_ADDR: `${host}:${agents}`,
        ADIT_PEER_ADDR: `${host}:${peer}`,
        ADIT_DNS_ADDR: `${host}:${dns}`,
        ADIT_TCP_HOST: host,
      }
      return { host, environment }
    })
    const servers = places.map(({ host }) => `${host}:${dns}`)
    using _ = resolveAt(DOMAIN.resolved, servers)
    const clients = (name: string): Client[] =>
      ['one resolver', 'another resolver'].map(way => {
        const address = cachedAddress(servers, name)
        return {
          way,
          send: async options =>
            visitAt({ host: await address(), port: http, ...options, agent: false }, name),
        }
      })
    // Each restart takes half a minute, and CLU-13 has those of all nodes.
    const restarted = LONG || EARLIER !== undefined ? places : places.slice(-1)
    await rolled(t, cluster, places, { server: `${DOMAIN.resolved}:${agents}`, clients, restarted })
  })
})

/** The first address of a name, asked for again when its time to live has passed. */
function cachedAddress(servers: readonly string[], name: string): () => Promise<string> {
  const resolver = new Resolver()
  resolver.setServers(servers)
  let known = { address: '', until: 0 }
  return async () => {
    if (Date.now() < known.until) return known.address
    const [first] = await resolver.resolve4(name, { ttl: true })
    known = { address: first?.address ?? '', until: Date.now() + (first?.ttl ?? 0) * 1000 }
    return known.address
  }
}
