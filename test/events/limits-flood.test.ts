import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { Agent } from 'node:https'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { World } from '../e2e/edges/world.ts'
import { isLongRun, PeakMemory, reportFigures } from '../e2e/survive/measurements.ts'
import { MANY_EVENTS } from './support.ts'
import { until } from '../support/until.ts'

const REQUEST = 'http_request_complete.v0'
/** Above the limit for queued traffic: the number of events in the long run, the bytes in the short one. */
const REQUESTS = isLongRun ? 60_000 : 3000
const PATH = isLongRun ? '/x' : `/${'x'.repeat(7500)}`
const headers = { 'user-agent': isLongRun ? 'test/1' : 'x'.repeat(7500) }
const AT_ONCE = 32
const MEMORY_KIB = 256 * 1024

const droppedIn = (metrics: string): number =>
  Number(/^adit_event_delivery_total\{result="dropped"\} (\d+)$/m.exec(metrics)?.[1] ?? 0)

test('DOS-12: a flood of events to a dead sink is dropped and counted, and harms no request', async context => {
  await using world = await World.start()
  const { api } = world.server
  // It takes connections and never answers.
  const dead = createServer(() => undefined).listen(0, '127.0.0.1')
  await once(dead, 'listening')
  using _ = { [Symbol.dispose]: () => dead.close().closeAllConnections() }
  const url = `http://127.0.0.1:${(dead.address() as AddressInfo).port}/`
  const destination = await world.make('/event_destinations', { target: { webhook: { url } } })
  const subscription = await world.make('/event_subscriptions', {
    sources: [{ type: REQUEST }],
    destination_ids: [destination.id],
  })
  const edge = await world.edge(['a.example.com'])
  await world.route(edge, '/', await world.fixedResponse('hello'))
  const metrics = async (): Promise<string> => (await fetch(`${api.url}/metrics`)).text()
  const deliveries = () => api.get(`/event_deliveries?subscription_id=${subscription.id}`)
  // Asked until the first event waits: from here on gateways tell of each request.
  await until(async () => [await world.ask('a.example.com/'), await deliveries()] as const, {
    ...MANY_EVENTS,
    fits: ([{ status }, { body }]) => status === 200 && body.event_deliveries[0]?.waiting > 0,
  })
  assert.equal(droppedIn(await metrics()), 0)

  using memory = new PeakMemory(process.pid)
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  let left = REQUESTS
  const visit = async (): Promise<void> => {
    while (left-- > 0) {
      const { status, text } = await world.ask(`a.example.com${PATH}`, { agent, headers })
      assert.deepEqual([status, text], [200, 'hello'])
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, visit))
  agent.destroy()

  // The sink is as dead as it was: nothing has to be read for drops to be reported.
  const [{ waiting, dead_letters: letters }, reported] = await until(
    async () => [(await deliveries()).body.event_deliveries[0], await metrics()] as const,
    { ...MANY_EVENTS, fits: ([delivery, text]) => delivery.waiting + droppedIn(text) >= REQUESTS },
  )
  const depth = Number(/^adit_event_queue_depth (\d+)$/m.exec(reported)?.[1])
  reportFigures(context, { dropped: droppedIn(reported), waiting, 'memory +KiB': memory.growth })
  assert.ok(depth > 0 && depth <= 20_000 + 1000, `${depth} wait`)
  assert.ok(droppedIn(reported) > 0)
  assert.equal(letters, 0)
  assert.match(reported, /^adit_event_delivery_total\{result="delivered"\} 0$/m)
  assert.ok(memory.growth < MEMORY_KIB, `memory grew by ${memory.growth} KiB`)
})
