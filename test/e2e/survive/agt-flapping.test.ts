import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect as connectTcp } from 'node:net'
import { suite, test } from 'node:test'
import { connect } from '#agent/index.ts'
import { GatewayProcess, HOST } from './agt-support.ts'
import { LossyRelay } from './agt-support-relay.ts'
import { long, tell, wait } from './figures.ts'
import { until } from '../../support/until.ts'

const [ROUNDS, PERIOD_MS] = long ? [100, 3000] : [10, 300]
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

/** An answer that never ends, so that each outage cuts streams. */
async function endless(port: number, host: string): Promise<void> {
  const asked = request({ host: HOST, port, path: '/endless', headers: { host }, agent: false })
  asked.on('error', () => undefined)
  asked.on('response', (response: IncomingMessage) => response.on('error', () => undefined).resume())
  asked.end()
  await once(asked, 'close')
}

suite('a link that comes and goes', async () => {
  const service = createServer((asked, response) => {
    if (asked.url === '/endless') response.write('beginning')
    else response.end('hello')
  }).listen(0, HOST)
  await once(service, 'listening')
  const { port } = service.address() as AddressInfo

  test(`${ROUNDS} times leaves nothing behind in the gateway`, async context => {
    await using gateway = await GatewayProcess.start()
    await using relay = await LossyRelay.start(gateway.agentPort)
    const http = gateway.process.bound.http?.port ?? 0
    const retry = { baseMs: 20, capMs: 100 }
    const agents = await Promise.all(
      Array.from({ length: AGENTS }, () => connect({ ...gateway.options, server: relay.address, retry })),
    )
    const ports: string[] = []
    for (const [at, agent] of agents.entries()) {
      await agent.listen({ proto: 'http', domain: `flap-${at}`, forwardTo: port })
      ports.push((await agent.listen({ proto: 'tcp', forwardTo: port })).url)
      await agent.listen({ labels: { flap: `${at}` }, forwardTo: port })
    }
    const before = await stateOf(gateway)
    const files = gateway.files
    const visits: Promise<void>[] = []
    let most = 0
    for (let round = 0; round < ROUNDS; round++) {
      relay.closed = false
      visits.push(endless(http, `flap-${round % AGENTS}.adit.localhost`))
      const visitor = connectTcp(Number(ports[round % AGENTS]?.split(':').at(-1)), HOST)
      visitor.on('error', () => undefined)
      await wait(PERIOD_MS)
      most = Math.max(most, (await gateway.metrics()).get('adit_tunnel_streams') ?? 0)
      relay.closed = true
      relay.cut()
      await wait(PERIOD_MS)
      visitor.destroy()
    }
    relay.closed = false
    // What is not answered any more is cut with the stream behind it.
    await Promise.all(visits)
    let after = {}
    const same = async (): Promise<boolean> => {
      after = await stateOf(gateway)
      return JSON.stringify(after) === JSON.stringify(before)
    }
    await until(same, { what: 'all is as before', withinMs: 20_000 }).catch(() =>
      assert.deepEqual(after, before),
    )
    await until(() => gateway.files <= files + 2, { what: 'files are closed', withinMs: 5000 }).catch(
      () => undefined,
    )
    tell(context, {
      outages: ROUNDS,
      connections: relay.count,
      'files before': files,
      'files after': gateway.files,
    })
    assert.ok(relay.count >= AGENTS + ROUNDS)
    assert.ok(most > 0, 'streams that were open are not counted')
    assert.ok(gateway.files <= files + 2, `${files} files were open, now ${gateway.files}`)
    assert.deepEqual(
      agents.map(({ status }) => status.state),
      agents.map(() => 'online'),
    )
    await Promise.all(agents.map(agent => agent.close()))
    await until(async () => (await gateway.all('tunnels')).length === 0, {
      what: 'all have gone',
      withinMs: 5000,
    })
  })

  test.after(() => service.close().closeAllConnections())
})
