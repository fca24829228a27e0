import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { envelope } from '#events/envelope.ts'
import { eventsOf } from '#events/line-event.ts'
import { lowestId, newId } from '#base/ids.ts'
import { createLog } from '#base/log.ts'
import { defaultDeliveryTimings, waitAfter } from '#events/backoff.ts'
import { DeadLetters } from '#events/dead-letters.ts'
import { Outbox } from '#events/outbox.ts'
import { TrafficLog } from '#events/traffic-log.ts'
import { TrafficEvents, type TrafficBatch } from '#telemetry/traffic-events.ts'
import { prune } from '#server/prune.ts'
import { openSqlite } from '#store/sqlite.ts'
import type { Store } from '#store/store.ts'
import { MANY_EVENTS, EventWorld, eventWrite, httpDestination, Receiver } from './support.ts'
import { until } from '../support/until.ts'

const CREATED = 'ip_policy_created.v0'
const REQUEST = 'http_request_complete.v0'
const reported = (n: number) =>
  envelope({ id: newId('ev'), type: REQUEST, at: new Date().toISOString(), object: `{"n":${n}}` }, 'ac_1')
const outgoing = (n: number) => ({
  id: `ev_${n}`,
  type: REQUEST,
  at: '2026-01-01T00:00:00Z',
  body: String(n),
})

/** The dead letters of a cursor that is there. */
async function lettersIn(store: Store): Promise<DeadLetters> {
  const row = { id: 'edv_1', kind: 'event_cursor', parent: null, version: 1, body: '{}' }
  await store.commit([{ op: 'insert', entry: { row, refs: [], claims: [] } }])
  return new DeadLetters(store, 'edv_1')
}

/** A reader, and how often it was notified of missed events. */
function reading(log: TrafficLog, wants: (type: string) => boolean = () => true) {
  let count = 0
  return { reader: log.join({ wants, missed: () => count++ }), missed: () => count }
}

suite('limits of event delivery', () => {
  test('a dead destination delays neither writes nor other destinations, and loses no change', async () => {
    await using dead = await Receiver.start()
    await using good = await Receiver.start()
    await using events = new EventWorld(await openSqlite(':memory:'))
    dead.answer = () => ({ status: 503 })
    const engine = await events.engine()
    await events.subscription([CREATED, REQUEST], [await events.destination(dead.url)])
    await events.subscription([CREATED], [await events.destination(good.url)])
    await until(async () => (await engine.deliveries()).length === 2)
    for (let batch = 0; batch < 100; batch++) await events.emit(CREATED, 100)
    for (let n = 0; n < 30_000; n++) engine.publish([reported(n)])
    await good.until(() => good.events.length >= 10_000)
    assert.deepEqual(
      good.numbers,
      Array.from({ length: 10_000 }, (_, n) => n),
    )
    const droppedSoFar = (): number => Number(/result="dropped"\} (\d+)/.exec(engine.metrics())?.[1])
    const dropped = droppedSoFar()
    // Some may have been on their way.
    assert.ok(dropped >= 9000 && dropped <= 10_000, `${dropped} dropped`)
    const waiting = (await engine.deliveries()).map(delivery => delivery.waiting)
    assert.ok(Math.max(...waiting) >= 30_000, String(waiting))
    assert.ok(Number(/adit_event_queue_depth (\d+)/.exec(engine.metrics())?.[1]) >= 30_000)
    dead.answer = () => ({ status: 200 })
    await dead.until(() => dead.events.filter(event => event.event_type === CREATED).length >= 10_000)
    const changes = dead.events.filter(event => event.event_type === CREATED)
    assert.deepEqual(
      changes.map(({ object }) => object.n),
      good.numbers,
    )
    await until(() => /adit_event_queue_depth 0/.test(engine.metrics()))
    assert.equal(droppedSoFar(), dropped)
  })

  test('no more than sixteen batches are in flight at a time', async () => {
    await using receiver = await Receiver.start()
    await using events = new EventWorld(await openSqlite(':memory:'))
    let now = 0
    let most = 0
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    receiver.answer = async () => {
      most = Math.max(most, ++now)
      await released
      now--
      return { status: 200 }
    }
    const engine = await events.engine()
    const destination = await events.destination(receiver.url)
    for (let n = 0; n < 20; n++) await events.subscription([CREATED], [destination])
    await until(async () => (await engine.deliveries()).length === 20)
    await events.emit(CREATED)
    await until(() => now === 16)
    release()
    await receiver.until(() => receiver.events.length === 20)
    assert.equal(most, 16)
  })

  test('traffic is kept in memory up to a bound, the newest of it, and drops are counted as they happen', () => {
    const log = new TrafficLog()
    const [slow, quick, other] = [reading(log), reading(log), reading(log, () => false)]
    for (let n = 1; n <= 25_000; n++) {
      log.add(outgoing(n))
      quick.reader.position = n
      assert.equal(slow.missed(), Math.max(0, n - 20_000))
    }
    assert.deepEqual([quick.missed(), other.missed()], [0, 0])
    assert.deepEqual([slow.reader.waiting, quick.reader.waiting], [20_000, 0])
    const { numbers, events } = slow.reader.read()
    assert.equal(numbers[0], 5001)
    assert.equal(events[0]?.id, 'ev_5001')
    assert.equal(events.length, 1000)
    slow.reader.position = 25_000
    assert.deepEqual(slow.reader.read().events, [])
    const large = 'x'.repeat(1_048_576)
    for (let n = 0; n < 40; n++) log.add({ ...outgoing(n), body: large })
    assert.ok(slow.reader.read().events.length <= 32)
    assert.equal(slow.missed() - 5000, 40 - slow.reader.waiting)
  })

  test('traffic of a flood at one endpoint is dropped, and none of the others', () => {
    const log = new TrafficLog()
    const slow = reading(log)
    let n = 0
    const add = (endpoint: string, body = ''): void => log.add({ ...outgoing(++n), endpoint, body })
    for (let round = 0; round < 60_000; round++) {
      add('flooded')
      if (round % 600 === 0) add('quiet')
      if (round % 1000 === 0) log.forgetRead()
    }
    for (let round = 0; round < 40; round++) add('flooded', 'x'.repeat(1_048_576))
    add('quiet')
    const seen: string[] = []
    const numbers: number[] = []
    for (let page = slow.reader.read(); page.events.length > 0; page = slow.reader.read()) {
      seen.push(...page.events.map(({ endpoint = '' }) => endpoint))
      numbers.push(...page.numbers)
      slow.reader.position = page.numbers.at(-1) ?? 0
    }
    assert.equal(seen.filter(endpoint => endpoint === 'quiet').length, 101)
    assert.deepEqual(
      numbers,
      numbers.toSorted((one, other) => one - other),
    )
    assert.equal(seen.length + slow.missed(), n)
    log.forgetRead()
    assert.equal(slow.reader.waiting, 0)
  })

  test('traffic is kept until the slowest has read it', () => {
    const log = new TrafficLog()
    const [fast, slow] = [reading(log), reading(log)]
    for (let n = 1; n <= 5; n++) log.add(outgoing(n))
    fast.reader.position = 5
    slow.reader.position = 2
    log.forgetRead()
    assert.deepEqual(
      slow.reader.read().events.map(({ id }) => id),
      ['ev_3', 'ev_4', 'ev_5'],
    )
    assert.equal(slow.reader.waiting, 3)
    assert.deepEqual(reading(log).reader.read().events, [])
    slow.reader.leave()
    log.forgetRead()
    fast.reader.position = 0
    assert.deepEqual(fast.reader.read().events, [])
    assert.deepEqual([fast.missed(), slow.missed()], [0, 0])
  })

  test('no more than two hundred deliveries have their own metrics, always the same', async () => {
    await using receiver = await Receiver.start()
    await using events = new EventWorld(await openSqlite(':memory:'))
    const engine = await events.engine()
    const destinations: string[] = []
    for (let n = 0; n < 11; n++) destinations.push(await events.destination(receiver.url))
    for (let n = 0; n < 20; n++) await events.subscription([CREATED], destinations)
    await until(async () => (await engine.deliveries()).length === 220, MANY_EVENTS)
    const shown = (): string[] =>
      [...engine.metrics().matchAll(/^adit_event_last_error_timestamp_seconds(\{.*\}) 0$/gm)].map(
        ([, labels = '']) => labels,
      )
    const first = (await engine.deliveries())
      .toSorted((one, other) => (one.id < other.id ? -1 : 1))
      .slice(0, 200)
      .map(each => `{subscription="${each.subscription_id}",destination="${each.destination_id}"}`)
    assert.deepEqual(shown(), first)
  })

  test('what a gateway cannot send in time is dropped and counted; other endpoints keep their share', async () => {
    const batches: TrafficBatch[] = []
    const traffic = new TrafficEvents(batch => void batches.push(batch))
    traffic.subscribe({ accountId: 'ac_1', http: [], tcp: ['conn.bytes_in'] })
    const client = { ip: '', port: 1, localIp: '', localPort: 1, serverName: undefined }
    const seen = { client, begun: 0, ended: 1, sent: 0, decision: undefined }
    for (let received = 0; received < 10_005; received++) traffic.connection({ ...seen, received })
    traffic.connection({ ...seen, client: { ...client, localPort: 2 }, received: -1 })
    await until(() => batches.length === 1, MANY_EVENTS)
    const events = batches[0]?.pages.flatMap(eventsOf) ?? []
    assert.deepEqual(
      events.map(({ body }) => JSON.parse(body).object.conn.bytes_in),
      [...Array.from({ length: 7500 }, (_, n) => n), -1],
    )
    assert.equal(batches[0]?.dropped, 2505)
  })

  test('all dead letters are kept, however many, and walked through oldest first', async () => {
    await using store = await openSqlite(':memory:')
    const letters = await lettersIn(store)
    const events = Array.from({ length: 2500 }, (_, n) => ({ ...outgoing(n), id: newId('ev') }))
    await letters.add(events.slice(0, 1600), 'no')
    // After a crash the same come again.
    await letters.add(events.slice(900, 1700), 'no')
    await letters.add(events.slice(1700), 'no')
    assert.equal(letters.count, 2500)
    const cursor = await letters.cursor()
    const walked: string[] = []
    for (let page = await cursor.next(); page.length > 0; page = await cursor.next()) {
      assert.ok(page.length <= 500)
      const some = page.slice(0, 130)
      walked.push(...some.map(({ event }) => event.id))
      // Every other one stays, as one that is refused again does; and more are given up meanwhile.
      await letters.remove(some.filter((_, at) => at % 2 === 0))
      await letters.add([{ ...outgoing(0), id: newId('ev') }], 'no')
      const last = some.at(-1)
      if (last) cursor.advance(last)
    }
    assert.deepEqual(
      walked,
      events.map(({ id }) => id),
    )
    const written = letters.count
    await letters.load()
    assert.equal(letters.count, written)
  })

  test('dead letters that another removes at the same time are counted right', async () => {
    await using store = await openSqlite(':memory:')
    const letters = await lettersIn(store)
    await letters.add(
      Array.from({ length: 10 }, (_, n) => ({ ...outgoing(n), id: newId('ev') })),
      'no',
    )
    const found = await (await letters.cursor()).next()
    const [gone] = found
    await store.commit([{ op: 'remove', id: gone?.row.id ?? '', version: 1 }])
    await letters.remove(found.slice(0, 5))
    assert.equal(letters.count, 5)
  })

  test('dead letters go with the audit log, but not before a week', async () => {
    await using store = await openSqlite(':memory:')
    const letters = await lettersIn(store)
    const DAY_MS = 86_400_000
    const now = Date.now()
    const ages = [100, 91, 89, 30, 8, 6, 0]
    for (const age of ages)
      await letters.add(
        Array.from({ length: age === 100 ? 1200 : 1 }, (_, n) => ({
          ...outgoing(age),
          id: lowestId('ev', now - age * DAY_MS + n * 1000),
        })),
        'no',
      )
    const kept = async (auditDays: number): Promise<string[]> => {
      await prune({
        store,
        sessions: { prune: async () => undefined },
        auditDays,
        delivered: async () => 0,
        log: createLog('silent'),
        now: () => now,
      })
      await letters.load()
      const page = await (await letters.cursor()).next()
      assert.equal(letters.count, page.length)
      return page.map(({ event }) => event.body)
    }
    assert.deepEqual(await kept(90), ['89', '30', '8', '6', '0'])
    assert.deepEqual(await kept(1), ['6', '0'])
  })

  test('the outbox is read once for all readers that are up to date', async () => {
    await using store = await openSqlite(':memory:')
    let reads = 0
    const counted = {
      events: (after: number, limit: number) => {
        reads++
        return store.events(after, limit)
      },
    }
    const outbox = new Outbox(counted, 0)
    for (let n = 0; n < 3; n++)
      await store.commit(Array.from({ length: 900 }, () => eventWrite(CREATED, { id: 'x' })))
    const sequences = async (after: number) => (await outbox.read(after)).map(({ sequence }) => sequence)
    for (const after of [0, 1000, 2000]) {
      const [first, second] = await Promise.all([sequences(after), sequences(after)])
      assert.equal(first?.[0], after + 1)
      assert.deepEqual(second, first)
    }
    assert.equal(reads, 3)
    // What is no longer kept in memory is read again.
    assert.equal((await sequences(0))[0], 1)
  })

  test('waits grow with each failure up to hours, and are never shorter than requested', () => {
    const longest = (failures: number) =>
      Math.max(...Array.from({ length: 200 }, () => waitAfter(failures, defaultDeliveryTimings, undefined)))
    assert.ok(longest(1) <= 1000)
    assert.ok(longest(4) > 4000 && longest(4) <= 8000)
    assert.ok(longest(40) <= defaultDeliveryTimings.maxWaitMs && longest(40) > 3_600_000)
    assert.ok(waitAfter(1, defaultDeliveryTimings, 60_000) >= 60_000)
  })

  test('the lowest id of a moment is below all that are made from then on, and above older ones', () => {
    const moment = Date.now() + 10_000
    assert.ok(lowestId('ev', moment) <= newId('ev', moment))
    assert.ok(lowestId('ev', moment + 5000) > newId('ev', moment))
  })

  test('undelivered events outlive the audit log, for a bounded time', async () => {
    await using store = await openSqlite(':memory:')
    const DAY_MS = 86_400_000
    const now = Date.now()
    const ages = [8, 3, 2, 0.5]
    for (const days of ages) await store.commit([eventWrite(CREATED, { id: 'x' }, now - days * DAY_MS)])
    const sessions = { prune: async () => undefined }
    const log = createLog('silent')
    const kept = async (delivered: number): Promise<number[]> => {
      await prune({ store, sessions, auditDays: 1, delivered: async () => delivered, log, now: () => now })
      return (await store.events(0, 10)).map(({ sequence }) => sequence)
    }
    assert.deepEqual(await kept(0), [2, 3, 4])
    assert.deepEqual(await kept(2), [3, 4])
    assert.deepEqual(await kept(4), [4])
  })

  test('a destination that cannot be made is tried again like one that fails', async () => {
    await using receiver = await Receiver.start()
    await using events = new EventWorld(await openSqlite(':memory:'))
    let broken = true
    const engine = await events.engine({
      build: () => {
        if (broken) throw new Error('secrets cannot be opened')
        return httpDestination(receiver.url)
      },
    })
    await events.subscription([CREATED], [await events.destination(receiver.url)])
    await events.emit(CREATED)
    await until(
      async () =>
        (await engine.deliveries())[0]?.failing_since !== null && (await engine.deliveries()).length === 1,
    )
    assert.doesNotMatch((await engine.deliveries())[0]?.last_error ?? '', /secrets/)
    broken = false
    await receiver.until(() => receiver.events.length === 1)
  })
})
