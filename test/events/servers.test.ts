import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, suite, test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { envelope } from '#events/envelope.ts'
import { newId } from '#base/ids.ts'
import type { EventEngine } from '#events/engine.ts'
import { openPostgres } from '#store/postgres.ts'
import type { DeliveryStatus } from '#events/delivery-status.ts'
import type { Store, Write } from '#store/store.ts'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { EngineProcess } from './engine-process.ts'
import { MANY_EVENTS, EventWorld, fastDelivery, httpDestination, Receiver } from './support.ts'
import { until } from '../support/until.ts'

const CREATED = 'ip_policy_created.v0'
const REQUEST = 'http_request_complete.v0'
/** Short, so that tests are; long enough for a machine that is busy. */
const LEASE_MS = 2500

const delivers = (engine: EventEngine): boolean => /^adit_event_delivers 1$/m.test(engine.metrics())

async function idsOf(store: Store, type: string): Promise<string[]> {
  const events = await store.events(0, 10_000)
  return events.filter(event => event.type === type).map(({ id }) => id)
}

const isCursorInsert = (batch: readonly Write[]): boolean =>
  batch.some(write => write.op === 'insert' && write.entry.row.kind === 'event_cursor')

const firstTimes = (receiver: Receiver): string[] => [
  ...new Set(receiver.events.map(({ event_id }) => event_id)),
]

suite('several servers on one database', () => {
  let postgres: TestPostgres
  before(async () => {
    postgres = await startPostgres()
  })
  after(() => postgres.stop())

  /** Two servers; the first is the leader, which delivers the outbox. */
  async function pair(url: string, limits = { maxEvents: 100, maxBytes: 1_000_000 }) {
    const worlds = [new EventWorld(await openPostgres(url)), new EventWorld(await openPostgres(url))] as const
    const engine = (world: EventWorld, from: string): Promise<EventEngine> =>
      world.engine({
        build: target => httpDestination(`${target.webhook?.url ?? ''}?from=${from}`, limits),
        timings: { ...fastDelivery, leaseMs: 2 * LEASE_MS },
      })
    const engines = [await engine(worlds[0], 'first'), await engine(worlds[1], 'second')] as const
    return {
      worlds,
      engines,
      async [Symbol.asyncDispose]() {
        for (const world of worlds) await world[Symbol.asyncDispose]()
      },
    }
  }

  test('deliver each change once and in order, whatever server it was made at', async () => {
    await using receiver = await Receiver.start()
    await using servers = await pair(await postgres.newDatabase())
    const [first, second] = servers.worlds
    const destination = await second.destination(receiver.url)
    await second.subscription([CREATED], [destination])
    const write = async (world: EventWorld): Promise<void> => {
      for (let n = 0; n < 100; n++) await world.emit(CREATED)
    }
    await Promise.all([write(first), write(second)])
    await receiver.until(() => receiver.events.length >= 200)
    assert.deepEqual(
      receiver.events.map(({ event_id }) => event_id),
      await idsOf(first.store, CREATED),
    )
    assert.deepEqual([...new Set(receiver.senders)], ['first'])
    assert.deepEqual(servers.engines.map(delivers), [true, false])
  })

  test('each report what happens at their own gateways', async () => {
    await using receiver = await Receiver.start()
    await using servers = await pair(await postgres.newDatabase())
    const [first, second] = servers.worlds
    await first.subscription([REQUEST], [await first.destination(receiver.url)])
    for (const engine of servers.engines) await until(async () => (await engine.deliveries()).length === 1)
    const reported = (n: number) =>
      envelope({ id: newId('ev'), type: REQUEST, at: '2026-01-01T00:00:00Z', object: `{"n":${n}}` }, 'ac_1')
    servers.engines[1].publish([reported(2)])
    await receiver.until(() => receiver.batches.length === 1)
    await second.emit(CREATED)
    servers.engines[0].publish([reported(1)])
    await receiver.until(() => receiver.batches.length === 2)
    assert.deepEqual(receiver.senders, ['second', 'first'])
  })

  test('show the same deliveries, and accept a replay of dead letters at any server', async () => {
    await using receiver = await Receiver.start()
    await using servers = await pair(await postgres.newDatabase())
    const [first, second] = servers.worlds
    const [leader, other] = servers.engines
    receiver.answer = batch => ({ status: batch.some(({ object }) => object.n === 3) ? 400 : 200 })
    await first.subscription([CREATED], [await first.destination(receiver.url)])
    await first.emit(CREATED, 10)
    await until(async () => (await other.deliveries())[0]?.dead_letters === 1)
    // Only the sender has its attempts, and writes the rest when it may.
    const reported = async (engine: EventEngine) =>
      (await engine.deliveries()).map(each => ({ ...each, attempts: [] }))
    const [, here] = await until(async () => [await reported(leader), await reported(other)] as const, {
      fits: both => both[1][0]?.waiting === 0 && isDeepStrictEqual(...both),
    })
    assert.equal(here[0]?.last_error, 'answered 400')
    receiver.answer = () => ({ status: 200 })
    assert.equal(await other.replay(here[0]?.id ?? ''), true)
    await receiver.until(() => receiver.numbers.at(-1) === 3)
    await until(async () => (await other.deliveries())[0]?.dead_letters === 0, MANY_EVENTS)
    await until(async () => (await second.store.list('event_replay', { limit: 10 })).length === 0)
    assert.ok(receiver.senders.every(sender => sender === 'first'))
  })

  test('replay all dead letters of one of them, in order, when another one replays', async () => {
    await using receiver = await Receiver.start()
    const url = await postgres.newDatabase()
    receiver.answer = () => ({ status: 503 })
    await using gone = new EventWorld(await openPostgres(url))
    const leader = await gone.engine({ timings: { ...fastDelivery, leaseMs: LEASE_MS, giveUpMs: 1000 } })
    await gone.subscription([CREATED], [await gone.destination(receiver.url)])
    for (let n = 0; n < 5; n++) await gone.emit(CREATED, 500)
    await until(async () => (await leader.deliveries())[0]?.dead_letters === 2500, MANY_EVENTS)
    await leader.close()
    receiver.answer = () => ({ status: 200 })
    await using there = new EventWorld(await openPostgres(url))
    const other = await there.engine({ timings: { ...fastDelivery, leaseMs: LEASE_MS } })
    await until(async () => (await other.deliveries())[0]?.dead_letters === 2500, MANY_EVENTS)
    assert.equal(await other.replay((await other.deliveries())[0]?.id ?? ''), true)
    await receiver.until(() => receiver.events.length === 2500)
    assert.deepEqual(
      receiver.numbers,
      Array.from({ length: 2500 }, (_, n) => n),
    )
    await until(async () => (await other.deliveries())[0]?.dead_letters === 0, MANY_EVENTS)
  })

  test('all report the state of a destination that one of them has found', async () => {
    await using receiver = await Receiver.start()
    await using servers = await pair(await postgres.newDatabase())
    const [leader, other] = servers.engines
    const [first] = servers.worlds
    receiver.answer = () => ({ status: 503 })
    await first.subscription([REQUEST], [await first.destination(receiver.url)])
    for (const engine of servers.engines) await until(async () => (await engine.deliveries()).length === 1)
    leader.publish([{ id: newId('ev'), type: REQUEST, at: new Date().toISOString(), body: '{}' }])
    await until(async () => (await other.deliveries())[0]?.failing_since !== null)
    assert.match(leader.metrics(), /adit_event_deliveries_failing 1/)
    assert.match(other.metrics(), /adit_event_deliveries_failing 0/)
    receiver.answer = () => ({ status: 200 })
    await until(async () => (await other.deliveries())[0]?.failing_since === null)
    const [delivery] = await other.deliveries()
    assert.equal(delivery?.last_error, 'answered 503')
    assert.equal(typeof delivery?.last_success_at, 'string')
  })

  test('report a destination that fails from the first event, before its cursor was written', async () => {
    await using receiver = await Receiver.start()
    receiver.answer = () => ({ status: 503 })
    const url = await postgres.newDatabase()
    const opened = await openPostgres(url)
    // The cursor is inserted only after the first attempt has failed.
    const slow = new Proxy(opened, {
      get(store, name) {
        const value: unknown = Reflect.get(store, name)
        if (typeof value !== 'function') return value
        return async (...given: unknown[]) => {
          if (name === 'commit' && isCursorInsert(given[0] as readonly Write[]))
            await receiver.until(() => receiver.calls > 1)
          return Reflect.apply(value, store, given) as unknown
        }
      },
    })
    await using first = new EventWorld(slow)
    await using second = new EventWorld(await openPostgres(url))
    const [leader, other] = [await first.engine(), await second.engine()]
    await first.subscription([REQUEST], [await first.destination(receiver.url)])
    await until(async () => (await leader.deliveries()).length === 1)
    leader.publish([{ id: newId('ev'), type: REQUEST, at: new Date().toISOString(), body: '{}' }])
    const isFailing = (status: DeliveryStatus | undefined): boolean =>
      typeof status?.failing_since === 'string'
    await until(async () => isFailing((await other.deliveries())[0]))
    assert.equal((await other.deliveries())[0]?.last_error, 'answered 503')
    assert.ok(isFailing((await leader.deliveries())[0]))
  })

  test('stop sending to a destination that was removed at the other one', async () => {
    await using good = await Receiver.start()
    await using bad = await Receiver.start()
    await using servers = await pair(await postgres.newDatabase())
    const [first, second] = servers.worlds
    const refused: string[] = []
    bad.answer = batch => {
      refused.push(...batch.map(({ event_id }) => event_id))
      return { status: 503 }
    }
    const [kept, gone] = [await first.destination(good.url), await first.destination(bad.url)]
    const id = await first.subscription([CREATED], [kept, gone])
    await first.emit(CREATED)
    await bad.until(() => bad.calls > 0)
    await second.change(id, [CREATED], [kept])
    for (const engine of servers.engines)
      await until(async () => (await engine.deliveries()).map(each => each.destination_id).join() === kept)
    await until(async () => (await first.store.list('event_cursor', { limit: 10 })).length === 1)
    await second.emit(CREATED)
    await good.until(() => good.events.length === 2)
    assert.ok(!refused.includes(good.events[1]?.event_id ?? ''))
    await second.unsubscribe(id)
    await until(async () => (await first.store.list('event_cursor', { limit: 10 })).length === 0)
  })

  test('hand over at once when the leader stops', async () => {
    await using receiver = await Receiver.start()
    await using servers = await pair(await postgres.newDatabase())
    const [first, second] = servers.worlds
    await first.subscription([CREATED], [await first.destination(receiver.url)])
    await first.emit(CREATED, 150)
    await receiver.until(() => receiver.events.length > 0)
    await servers.engines[0].close()
    await second.emit(CREATED, 50)
    await receiver.until(() => receiver.events.length >= 200)
    assert.deepEqual(
      receiver.events.map(({ event_id }) => event_id),
      await idsOf(second.store, CREATED),
    )
    assert.equal(receiver.senders.at(-1), 'second')
  })

  test('keep a requested replay of dead letters when all of them stop', async () => {
    await using receiver = await Receiver.start()
    const url = await postgres.newDatabase()
    await using world = new EventWorld(await openPostgres(url))
    receiver.answer = () => ({ status: 400 })
    const engine = await world.engine()
    await world.subscription([CREATED], [await world.destination(receiver.url)])
    await world.emit(CREATED, 2)
    await until(async () => (await engine.deliveries())[0]?.dead_letters === 2)
    receiver.answer = () => ({ status: 503 })
    const [delivery] = await engine.deliveries()
    await engine.replay(delivery?.id ?? '')
    const { calls } = receiver
    await receiver.until(() => receiver.calls > calls)
    await engine.close()
    receiver.answer = () => ({ status: 200 })
    await world.engine()
    await receiver.until(() => receiver.events.length === 2)
  })

  suite('as processes', () => {
    async function processes(url: string) {
      const one = await EngineProcess.start(url, 'one', LEASE_MS)
      const two = await EngineProcess.start(url, 'two', LEASE_MS)
      const leader = await until(async () => {
        for (const each of [one, two]) if (await each.delivers()) return each
        return undefined
      })
      return {
        leader,
        other: leader === one ? two : one,
        async [Symbol.asyncDispose]() {
          await one[Symbol.asyncDispose]()
          await two[Symbol.asyncDispose]()
        },
      }
    }

    test('another continues when the leader is killed, and only events in flight are repeated', async () => {
      await using receiver = await Receiver.start()
      const url = await postgres.newDatabase()
      await using world = new EventWorld(await openPostgres(url))
      await using servers = await processes(url)
      const { leader, other } = servers
      await world.subscription([CREATED], [await world.destination(receiver.url)])
      // The second batch is accepted, but its response is lost.
      const { promise: killed, resolve: kill } = Promise.withResolvers<void>()
      const exited = once(leader.child, 'exit')
      receiver.answer = async () => {
        if (receiver.batches.length === 1) {
          leader.child.kill('SIGKILL')
          await killed
        }
        return { status: 200 }
      }
      await world.emit(CREATED, 100)
      await exited
      kill()
      await world.emit(CREATED, 20)
      await receiver.until(() => firstTimes(receiver).length === 120)
      await until(() => other.delivers())
      assert.deepEqual(firstTimes(receiver), await idsOf(world.store, CREATED))
      assert.ok(receiver.events.length <= 160, `${receiver.events.length} came`)
      assert.equal(receiver.senders.at(-1), other.name)
    })

    for (const status of [200, 503])
      test(`one that was stopped for too long sends nothing more when it resumes with a ${status}`, async () => {
        await using receiver = await Receiver.start()
        const url = await postgres.newDatabase()
        await using world = new EventWorld(await openPostgres(url))
        await using servers = await processes(url)
        const { leader, other } = servers
        await world.subscription([CREATED], [await world.destination(receiver.url)])
        let isFirst = true
        const { promise: taken, resolve: takeOver } = Promise.withResolvers<void>()
        // It is stopped while a batch is on its way, with more to come; the answer waits until another goes on.
        receiver.answer = async () => {
          if (!isFirst) return { status: 200 }
          isFirst = false
          leader.child.kill('SIGSTOP')
          await taken
          return { status }
        }
        await world.emit(CREATED, 100)
        await receiver.until(() => receiver.events.length === 100)
        assert.ok(receiver.senders.every(sender => sender === other.name))
        takeOver()
        leader.child.kill('SIGCONT')
        await until(async () => !(await leader.delivers()))
        await world.emit(CREATED, 100)
        await receiver.until(() => firstTimes(receiver).length === 200)
        assert.deepEqual(firstTimes(receiver), await idsOf(world.store, CREATED))
        const fromFirst = receiver.batches.filter((_, at) => receiver.senders[at] === leader.name)
        assert.equal(fromFirst.length, status === 200 ? 1 : 0, 'only what was on its way')
        assert.equal(receiver.events.length - fromFirst.flat().length, 200, 'each of the others once')
        const fromOther = receiver.senders.filter(sender => sender === other.name).length
        assert.equal(receiver.calls, fromOther + 1)
      })
  })
})
