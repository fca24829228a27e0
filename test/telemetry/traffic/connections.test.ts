import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { suite, test } from 'node:test'
import { accountId, allHttp, HOST, TrafficWorld } from './support.ts'
import { echo } from '../../support/net.ts'

/** Says something and waits for the end; a refusal is an end too. */
async function visit(port: number, text: string): Promise<void> {
  const socket = connect({ port, host: HOST })
  socket.on('error', () => undefined)
  socket.resume().end(text)
  await new Promise(resolve => socket.on('close', resolve))
}

const portOf = (url: string): number => Number(/:(\d+)$/.exec(url)?.[1])

suite('what is reported about a connection', () => {
  test('has its ends, its bytes and its moments', async () => {
    await using world = await TrafficWorld.start()
    await using service = await echo()
    const agent = await world.agent()
    const { url } = await agent.listen({ proto: 'tcp', forwardTo: service.port })
    await visit(portOf(url), 'hello')
    const { conn, ...rest } = await world.object(() => true)
    const { start_ts: start, end_ts: end, ...facts } = conn
    assert.deepEqual(facts, {
      client_ip: HOST,
      server_ip: HOST,
      server_name: '',
      server_port: portOf(url),
      bytes_in: 5,
      bytes_out: 5,
    })
    assert.ok(Date.parse(start) <= Date.parse(end))
    assert.deepEqual(rest, { traffic_policy: { logs: [] } })
    assert.match(world.events[0]?.id ?? '', /^ev_/)
    assert.equal(world.events[0]?.at, end)
  })

  test('has only what is wanted, and is absent without a subscription', async () => {
    await using world = await TrafficWorld.start()
    await using service = await echo()
    const agent = await world.agent()
    const { url } = await agent.listen({ proto: 'tcp', forwardTo: service.port })
    world.traffic.subscribe({ accountId, http: allHttp, tcp: [] })
    await visit(portOf(url), 'unheard')
    world.traffic.subscribe({ accountId, http: [], tcp: ['conn.bytes_in'] })
    await visit(portOf(url), 'hello')
    assert.deepEqual(await world.object(() => true), { conn: { bytes_in: 5 } })
    assert.equal(world.events.length, 1)
  })

  test('has the decisions of IP policies: those of the agent, and those for all endpoints', async () => {
    await using world = await TrafficWorld.start()
    await using service = await echo()
    const agent = await world.agent()
    const forwardTo = service.port
    const tunnels = [
      await agent.listen({ proto: 'tcp', forwardTo, allowCidrs: ['127.0.0.0/8'] }),
      await agent.listen({ proto: 'tcp', forwardTo, denyCidrs: ['127.0.0.0/8'] }),
      await agent.listen({ proto: 'tcp', forwardTo }),
    ]
    const ports = tunnels.map(({ url }) => portOf(url))
    const decisions = async (): Promise<(string | undefined)[]> => {
      world.events.length = 0
      for (const port of ports) await visit(port, 'hello')
      const published = await Promise.all(
        ports.map(port => world.object(({ body }) => body.includes(`"server_port":${port}`))),
      )
      return published.map(({ ip_policy: policy }) => policy?.decision)
    }
    assert.deepEqual(await decisions(), ['allow', 'block', undefined])
    world.source.restrict('endpoints', true, '192.0.2.0/24')
    assert.deepEqual(await decisions(), ['block', 'block', 'block'])
  })

  test('has the fingerprint of a client whose TLS is passed on, where it is wanted', async () => {
    await using world = await TrafficWorld.start()
    await using service = await echo()
    const agent = await world.agent()
    await agent.listen({ proto: 'tls', domain: 'tls.adit.localhost', forwardTo: service.port })
    const knock = async (): Promise<void> => {
      const options = { host: HOST, port: world.httpsPort, servername: 'tls.adit.localhost' }
      const client = connectTls({ ...options, ALPNProtocols: ['x1'] })
      // The service does not use TLS: it echoes.
      await assert.rejects(once(client, 'secureConnect'))
      client.destroy()
    }
    await knock()
    const published = await world.object(() => true)
    assert.match(published.ja4_fingerprint, /^t13d\d{4}x1_[0-9a-f]{12}_[0-9a-f]{12}$/)
    assert.equal(published.conn.server_name, 'tls.adit.localhost')
    assert.ok(published.conn.bytes_in > 100)
    world.traffic.subscribe({ accountId, http: [], tcp: ['conn.server_name'] })
    world.events.length = 0
    await knock()
    assert.deepEqual(await world.object(() => true), { conn: { server_name: 'tls.adit.localhost' } })
  })
})
