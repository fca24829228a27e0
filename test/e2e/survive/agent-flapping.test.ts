import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect as connectTcp } from 'node:net'
import { suite, test } from 'node:test'
import { connect, type Agent, type AgentOptions } from '#agent/index.ts'
import { web } from '../../agent/support.ts'
import { GatewayProcess, HOST } from './agent-support.ts'
import { LossyRelay } from './agent-support-relay.ts'
import { isLongRun, reportFigures, sleep } from './measurements.ts'
import { until } from '../../support/until.ts'

const ROUNDS = isLongRun ? 100 : 10
const AGENTS = 5
const GAUGES = [
  'adit_agent_sessions',
  'adit_tunnels',
  'adit_tunnel_streams',
  'adit_connections{kind="agent"}',
  'adit_connections{kind="tcp"}',
]

/** All that an outage could leave behind. */
async function stateOf(gateway: GatewayProcess): Promise<object> {
  const metrics = await gateway.metrics()
  const names = async (list: 'tunnel_sessions' | 'tunnels' | 'endpoints', field: string) =>
    (await gateway.all(list)).map(item => `${item['id']} ${item[field]}`).toSorted()
  return {
    gauges: GAUGES.map(name => [name, metrics.get(name)]),
    sessions: await names('tunnel_sessions', 'started_at'),
    tunnels: await names('tunnels', 'public_url'),
    endpoints: await names('endpoints', 'hostport'),
  }
}

/** An answer that never ends, so that each outage cuts streams; undefined when the visit is refused. */
async function endless(port: number, host: string): Promise<IncomingMessage | undefined> {
  const asked = request({ host: HOST, port, path: '/endless', headers: { host }, agent: false })
  asked.on('error', () => undefined)
  asked.end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  response.on('error', () => undefined).resume()
  return response.statusCode === 200 ? response : undefined
}

/** Each has a tunnel of every kind; with the addresses of those by TCP. */
async function startAgents(
  options: AgentOptions,
  port: number,
): Promise<{ agents: Agent[]; ports: string[] }> {
  const retry = { baseMs: 20, capMs: 100 }
  const agents = await Promise.all(Array.from({ length: AGENTS }, () => connect({ ...options, retry })))
  const ports: string[] = []
  for (const [at, agent] of agents.entries()) {
    await agent.listen({ proto: 'http', domain: `flap-${at}`, forwardTo: port })
    ports.push((await agent.listen({ proto: 'tcp', forwardTo: port })).url)
    await agent.listen({ labels: { flap: `${at}` }, forwardTo: port })
  }
  return { agents, ports }
}

/** A client of a TCP tunnel that retries during an outage. */
function tcpClient(url: string): Disposable {
  const socket = connectTcp(Number(url.split(':').at(-1)), HOST).on('error', () => undefined)
  return { [Symbol.dispose]: () => socket.destroy() }
}

const isOnline = ({ status }: Agent): boolean => status.state === 'online'

suite('a flapping link', () => {
  test(`${ROUNDS} times leaks nothing in the gateway`, async context => {
    await using service = await web((asked, response) => {
      if (asked.url === '/endless') response.write('beginning')
      else response.end('hello')
    })
    const { port } = service
    await using gateway = await GatewayProcess.start()
    await using relay = await LossyRelay.start(gateway.agentPort)
    const http = gateway.process.bound.http?.port ?? 0
    const { agents, ports } = await startAgents({ ...gateway.options, server: relay.address }, port)
    const before = await stateOf(gateway)
    const files = gateway.files
    const cuts: Promise<void>[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const host = `flap-${round % AGENTS}.adit.localhost`
      using _ = tcpClient(ports[round % AGENTS] ?? '')
      await until(() => agents.every(isOnline))
      // A tunnel is back a moment after its agent; until then a visit is refused.
      const answer = await until(() => endless(http, host), { next: () => sleep(50) })
      cuts.push(new Promise(resolve => answer.once('close', () => resolve())))
      await until(async () => ((await gateway.metrics()).get('adit_tunnel_streams') ?? 0) > 0)
      relay.closed = true
      relay.cut()
      await until(() => !agents.some(isOnline))
      relay.closed = false
    }
    // What is not answered any more is cut with the stream behind it.
    await Promise.all(cuts)
    let after = {}
    const same = async (): Promise<boolean> => {
      after = await stateOf(gateway)
      return JSON.stringify(after) === JSON.stringify(before)
    }
    await until(same, { what: 'all is as before', withinMs: 60_000 }).catch(() =>
      assert.deepEqual(after, before),
    )
    await until(() => gateway.files <= files + 2, { what: 'files are closed' }).catch(() => undefined)
    reportFigures(context, {
      outages: ROUNDS,
      connections: relay.count,
      'files before': files,
      'files after': gateway.files,
    })
    assert.ok(relay.count >= AGENTS + ROUNDS)
    assert.ok(gateway.files <= files + 2, `${files} files were open, now ${gateway.files}`)
    assert.ok(agents.every(isOnline))
    await Promise.all(agents.map(agent => agent.close()))
    await until(async () => (await gateway.all('tunnels')).length === 0, {
      what: 'all have gone',
    })
  })
})
