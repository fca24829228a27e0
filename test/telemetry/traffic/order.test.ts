import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { suite, test } from 'node:test'
import { TrafficBroker } from '#server/traffic-broker.ts'
import type { OutgoingEvent } from '#events/destination.ts'
import { ReorderBuffer, START, STOP, type PublishEvents } from '#server/reorder-buffer.ts'
import { HOST, TrafficWorld } from './support.ts'
import { until } from '../../support/until.ts'
import { closed, echo } from '../../support/net.ts'

const CLOSED = 'tcp_connection_closed.v0'
const moment = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`
const event = (type: string, second: number, body = '{}'): OutgoingEvent => ({
  id: `ev_${type}_${second}`,
  type,
  at: moment(second),
  body,
})

/** A reorder buffer whose clock is set by hand, and what it has published. */
function holding(holdMs = 1) {
  const batches: { events: readonly OutgoingEvent[]; dropped: number }[] = []
  const state = { now: 10, came: Promise.withResolvers<void>() }
  const hold = new ReorderBuffer(
    (events, dropped) => {
      batches.push({ events, dropped })
      state.came.resolve()
    },
    () => moment(state.now),
    holdMs,
  )
  const next = async (): Promise<void> => {
    await state.came.promise
    state.came = Promise.withResolvers()
  }
  return {
    hold,
    state,
    batches,
    next,
    ids: () => batches.flatMap(({ events }) => events.map(({ id }) => id)),
  }
}

// Longer than the test.
const NEVER = 600_000

suite('the order of events', () => {
  test('is that of their arrival while no agent connects or disconnects: nothing waits', () => {
    const { hold, batches } = holding()
    const events = [event(CLOSED, 9), event(CLOSED, 8)]
    hold.publish(events, 3)
    assert.deepEqual(batches, [{ events, dropped: 3 }])
  })

  test('is that in which they happened around an agent, whenever they are published', async () => {
    const { hold, next, batches, ids } = holding()
    hold.add(event(STOP, 10))
    hold.publish([event(CLOSED, 11), event(CLOSED, 10)], 2)
    hold.publish([event(CLOSED, 9)], 1)
    hold.add(event(START, 10))
    await next()
    assert.deepEqual(ids(), [
      `ev_${CLOSED}_9`,
      `ev_${START}_10`,
      `ev_${CLOSED}_10`,
      `ev_${STOP}_10`,
      `ev_${CLOSED}_11`,
    ])
    assert.equal(batches[0]?.dropped, 3)
    hold.publish([event(CLOSED, 1)], 0)
    assert.equal(batches[1]?.events.length, 1)
  })

  test('leaves each agent its own time', async () => {
    const { hold, state, next, ids } = holding()
    hold.add(event(STOP, 10))
    state.now = 20
    hold.add(event(STOP, 20))
    await next()
    assert.deepEqual(ids(), [`ev_${STOP}_10`])
    hold.publish([event(CLOSED, 19)], 0)
    await next()
    assert.deepEqual(ids(), [`ev_${STOP}_10`, `ev_${CLOSED}_19`, `ev_${STOP}_20`])
  })

  test('costs no more than so much memory: beyond it all is published at once', () => {
    const many = holding(NEVER)
    many.hold.add(event(STOP, 10))
    many.hold.publish(
      Array.from({ length: 10_000 }, () => event(CLOSED, 9)),
      0,
    )
    assert.equal(many.ids().length, 10_001)
    assert.equal(many.ids().at(-1), `ev_${STOP}_10`)
    const large = holding(NEVER)
    large.hold.add(event(STOP, 10))
    large.hold.publish([event(CLOSED, 9, ' '.repeat(20_000_000))], 0)
    assert.equal(large.ids().length, 2)
  })

  test('is kept at the end, when nothing waits any longer', () => {
    const { hold, ids } = holding(NEVER)
    hold.flush()
    hold.add(event(STOP, 10))
    hold.publish([event(CLOSED, 9)], 0)
    hold.flush()
    assert.deepEqual(ids(), [`ev_${CLOSED}_9`, `ev_${STOP}_10`])
  })

  test('at a gateway has the connection of a tunnel before the end of its agent', async () => {
    await using world = await TrafficWorld.start()
    const reported: string[] = []
    const stopped = Promise.withResolvers<void>()
    const tell: PublishEvents = events => {
      reported.push(...events.map(({ type }) => type))
      if (reported.includes(STOP) && reported.includes(CLOSED)) stopped.resolve()
    }
    const hub = new TrafficBroker({ publish: tell, accountId: 'ac_1' })
    hub.subscribe(new Map([START, STOP, CLOSED].map(type => [type, new Set<string>()])))
    hub.watchSessions(world.directory)
    world.onBatch = batch => hub.publish(batch)
    await using service = await echo()
    const agent = await world.agent()
    const { url } = await agent.listen({ proto: 'tcp', forwardTo: service.port })
    const client = connect({ port: Number(/:(\d+)$/.exec(url)?.[1]), host: HOST })
    client.resume().end('hello')
    await closed(client)
    await until(() => world.metrics.connections.tcp.read().value === 0)
    await agent.close()
    await stopped.promise
    assert.deepEqual(reported, [START, CLOSED, STOP])
  })
})
