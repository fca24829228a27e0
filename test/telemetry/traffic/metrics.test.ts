import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { suite, test } from 'node:test'
import { renderMetrics } from '#base/metrics-text.ts'
import { newId } from '#base/ids.ts'
import { ClientBytes } from '#gateway/listeners/client-bytes.ts'
import { HOST, TrafficWorld } from './support.ts'
import { until } from '../../support/until.ts'
import { closed, echo } from '../../support/net.ts'

const portOf = (url: string): number => Number(/:(\d+)$/.exec(url)?.[1])
const bytesOf = ({ metrics }: TrafficWorld): { in: number; out: number } => ({
  in: metrics.bytes.in.read().value,
  out: metrics.bytes.out.read().value,
})

/** Writes, and reads as many bytes as it wrote. */
async function exchange(socket: Socket, bytes: number): Promise<void> {
  let left = bytes
  const { promise, resolve } = Promise.withResolvers<void>()
  socket.on('data', chunk => {
    left -= chunk.length
    if (left === 0) resolve()
  })
  socket.write(Buffer.alloc(bytes))
  await promise
}

const sample = ({ metrics }: TrafficWorld, name: string): number =>
  Number(
    renderMetrics(metrics.registry.snapshot())
      .split('\n')
      .find(line => line.startsWith(`${name} `))
      ?.slice(name.length),
  )

suite('the bytes of clients', () => {
  test('of a TCP endpoint are counted while its connection is open, and once', async () => {
    await using world = await TrafficWorld.start()
    await using service = await echo()
    const agent = await world.agent()
    const { url } = await agent.listen({ proto: 'tcp', forwardTo: service.port })
    const before = bytesOf(world)
    const client = connect({ port: portOf(url), host: HOST })
    await exchange(client, 100_000)
    assert.deepEqual(bytesOf(world), { in: before.in + 100_000, out: before.out + 100_000 })
    client.end()
    await closed(client)
    await until(() => world.metrics.connections.tcp.read().value === 0)
    assert.deepEqual(bytesOf(world), { in: before.in + 100_000, out: before.out + 100_000 })
  })

  test('of TLS, passed through or terminated, include TLS itself', async () => {
    await using world = await TrafficWorld.start()
    await using service = await echo()
    const agent = await world.agent()
    const domain = 'tls.adit.localhost'
    await agent.listen({ proto: 'tls', domain, forwardTo: service.port })
    const before = bytesOf(world)
    const client = connectTls({ host: HOST, port: world.httpsPort, servername: domain })
    // The service sends the hello back, which is no TLS that a client understands.
    await assert.rejects(once(client, 'secureConnect'))
    await until(() => world.metrics.connections.tls.read().value === 0)
    const passed = bytesOf(world)
    assert.ok(passed.in > before.in + 100)
    assert.ok(passed.out > before.out + 100)
    world.edge('a.example.test', await world.static((_, response) => response.end(Buffer.alloc(50_000))))
    await world.eventOf('a.example.test')
    const ended = bytesOf(world)
    assert.ok(ended.out > passed.out + 51_000 && ended.out < passed.out + 60_000)
    assert.ok(ended.in > passed.in + 500)
  })

  test('never decrease, although bytes buffered for a disconnected client are never sent', () => {
    const bytes = new ClientBytes()
    const socket = { bytesRead: 5, bytesWritten: 100 }
    bytes.add(socket)
    assert.deepEqual([bytes.received, bytes.sent], [5, 100])
    socket.bytesWritten = 40
    bytes.remove(socket)
    bytes.remove(socket)
    assert.deepEqual([bytes.received, bytes.sent], [5, 100])
    bytes.add({ bytesRead: 1, bytesWritten: 70 })
    assert.deepEqual([bytes.received, bytes.sent], [6, 110])
  })
})

suite('the requests of clients', () => {
  test('are counted by what they were for, and each that a service answered is timed', async () => {
    await using world = await TrafficWorld.start()
    const { source } = world
    const requests = (type: string, codes: string): number =>
      sample(world, `adit_http_requests_total{endpoint_type="${type}",proto="https",code_class="${codes}"}`)
    const timed = (): number => sample(world, 'adit_upstream_request_duration_seconds_count')
    world.edge('a.example.test', await world.static((_, response) => response.end('fine')))
    const body = { body: 'said', status_code: 200, headers: {} }
    world.edge('b.example.test', source.put('http_response_backend', newId('bkdhr'), body))
    const agent = await world.agent()
    const port = await world.service((_, response) => response.writeHead(404).end())
    await agent.listen({ proto: 'https', domain: 'c.adit.localhost', forwardTo: port })
    await world.eventOf('a.example.test')
    await world.eventOf('b.example.test')
    assert.deepEqual([requests('edge', '2xx'), timed()], [2, 1])
    await world.eventOf('c.adit.localhost')
    assert.deepEqual([requests('ephemeral', '4xx'), timed()], [1, 2])
    await world.eventOf('unknown.example.test')
    assert.deepEqual([requests('none', '4xx'), timed()], [1, 2])
    assert.equal(sample(world, 'adit_http_request_duration_seconds_count'), 4)
  })

  test('are timed to the end of their response', async () => {
    await using world = await TrafficWorld.start()
    const timed = (): number => sample(world, 'adit_http_request_duration_seconds_count')
    const begun = Promise.withResolvers<ServerResponse>()
    const backend = await world.static((_, response) => {
      response.write('first')
      begun.resolve(response)
    })
    world.edge('a.example.test', backend)
    const reported = world.eventOf('a.example.test')
    const response = await begun.promise
    await until(() => sample(world, 'adit_upstream_request_duration_seconds_count') === 1)
    assert.equal(timed(), 0)
    response.end('last')
    await reported
    assert.equal(timed(), 1)
  })
})
