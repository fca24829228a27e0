import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { lowestId, newId } from '#base/ids.ts'
import { createLog } from '#base/log.ts'
import { usualPace, waitAfter } from '#events/backoff.ts'
import { MOST_DEAD_LETTERS, DeadLetters } from '#events/dead-letters.ts'
import { Outbox } from '#events/outbox.ts'
import { TrafficLog } from '#events/traffic-log.ts'
import { Traffic, type TrafficBatch } from '#gateway/traffic.ts'
import { prune } from '#server/prune.ts'
import { openSqlite } from '#store/sqlite.ts'
import { EventWorld, eventWrite, posting, Receiver, until } from './support.ts'

const CREATED = 'ip_policy_created.v0'
const REQUEST = 'http_request_complete.v0'
const told = (n: number) => ({
  id: newId('ev'),
  type: REQUEST,
  at: new Date().toISOString(),
  object: `{"n":${n}}`,
})
const outgoing = (n: number) => ({
  id: `ev_${n}`,
  type: REQUEST,
  at: '2026-01-01T00:00:00Z',
  body: String(n),
})

suite('limits of event delivery', () => {
  test('a dead destination holds up neither writes nor other destinations, and loses no change', async () => {
    await using dead = await Receiver.start()
    await using good = await Receiver.start()
    await using events = new EventWorld(await openSqlite(':memory:'))
    dead.answer = () => ({ status: 503 })
    const engine = await events.engine()
    await events.subscription([CREATED, REQUEST], [await events.destination(dead.url)])
    await events.subscription([CREATED], [await events.destination(good.url)])
    await until(async () => (await engine.deliveries()).length === 2)
    for (let batch = 0; batch < 100; batch++) await events.happen(CREATED, 100)
    for (let n = 0; n < 30_000; n++) engine.tell([told(n)])
    await good.until(() => good.events.length >= 10_000)
    assert.deepEqual(
      good.numbers,
      Array.from({ length: 10_000 }, (_, n) => n),
    )
    assert.ok(((await engine.deliveries())[0]?.waiting ?? 0) >= 10_000)
    dead.answer = () => ({ status: 200 })
    await dead.until(() => dead.events.filter(event => event.event_type === CREATED).length >= 10_000)
    const changes = dead.events.filter(event => event.event_type === CREATED)
    assert.deepEqual(
      changes.map(({ object }) => object.n),
      good.numbers,
    )
    await until(() => /adit_event_queue_depth 0/.test(engine.metrics()))
    const dropped = Number(/result="dropped"\} (\d+)/.exec(engine.metrics())?.[1])
    assert.ok(dropped >= 10_000, `${dropped} dropped`)
  })

  test('no more than sixteen batches are on their way at a time', async () => {
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
    await events.happen(CREATED)
    await until(() => now === 16)
    release()
    await receiver.until(() => receiver.events.length === 20)
    assert.equal(most, 16)
  })

  test('traffic is kept in memory up to a bound, the newest of it', () => {
    const log = new TrafficLog()
    const reader = log.join()
    for (let n = 1; n <= 25_000; n++) log.add(outgoing(n))
    const { events, lost } = reader.read()
    assert.equal(lost, 5000)
    assert.equal(events[0]?.sequence, 5001)
    assert.equal(events.length, 1000)
    reader.place = 25_000
    assert.deepEqual(reader.read(), { events: [], lost: 0 })
    const large = 'x'.repeat(1_048_576)
    for (let n = 0; n < 40; n++) log.add({ ...outgoing(n), body: large })
    assert.ok(reader.read().events.length <= 32)
  })

  test('traffic is kept until the slowest has read it', () => {
    const log = new TrafficLog()
    const [fast, slow] = [log.join(), log.join()]
    for (let n = 1; n <= 5; n++) log.add(outgoing(n))
    fast.place = 5
    slow.place = 2
    log.forgetRead()
    const numbers = (): number[] => slow.read().events.map(({ sequence }) => sequence)
    assert.deepEqual([numbers(), slow.read().lost], [[3, 4, 5], 0])
    const late = log.join()
    assert.deepEqual(late.read(), { events: [], lost: 0 })
    slow.leave()
    log.forgetRead()
    fast.place = 0
    assert.deepEqual(fast.read(), { events: [], lost: 5 })
  })

  test('what a gateway cannot tell in time is dropped and counted', async () => {
    const batches: TrafficBatch[] = []
    const traffic = new Traffic(batch => void batches.push(batch))
    for (let n = 0; n < 10_005; n++) traffic.put({ ...told(n), type: REQUEST })
    await until(() => batches.length === 1)
    assert.equal(batches[0]?.events.length, 10_000)
    assert.equal(batches[0]?.dropped, 5)
  })

  test('only so many dead letters are kept, the newest', async () => {
    await using store = await openSqlite(':memory:')
    await store.commit([
      {
        op: 'insert',
        entry: {
          row: { id: 'edv_1', kind: 'event_cursor', parent: null, version: 1, body: '{}' },
          refs: [],
          claims: [],
        },
      },
    ])
    const letters = new DeadLetters(store, 'edv_1')
    const events = Array.from({ length: MOST_DEAD_LETTERS + 10 }, (_, n) => ({
      ...outgoing(n),
      id: newId('ev'),
    }))
    await letters.add(events.slice(0, 600), 'no')
    // After a crash the same come again.
    await letters.add(events.slice(500, 600), 'no')
    await letters.add(events.slice(600), 'no')
    assert.equal(letters.count, MOST_DEAD_LETTERS)
    assert.deepEqual(
      (await letters.list()).map(({ event }) => event.id),
      events.slice(10).map(({ id }) => id),
    )
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

  test('waits grow with each failure up to hours, and never undercut what was asked for', () => {
    const longest = (failures: number) =>
      Math.max(...Array.from({ length: 200 }, () => waitAfter(failures, usualPace, undefined)))
    assert.ok(longest(1) <= 1000)
    assert.ok(longest(4) > 4000 && longest(4) <= 8000)
    assert.ok(longest(40) <= usualPace.maxWaitMs && longest(40) > 3_600_000)
    assert.ok(waitAfter(1, usualPace, 60_000) >= 60_000)
  })

  test('the lowest id of a moment is below all that are made from then on, and above older ones', () => {
    const moment = Date.now() + 10_000
    assert.ok(lowestId('ev', moment) <= newId('ev', moment))
    assert.ok(lowestId('ev', moment + 5000) > newId('ev', moment))
  })

  test('what is not delivered outlives the audit log, but not for ever', async () => {
    await using store = await openSqlite(':memory:')
    const DAY_MS = 86_400_000
    const now = Date.now()
    const ages = [8, 3, 2, 0.5]
    for (const days of ages) await store.commit([eventWrite(CREATED, { id: 'x' }, now - days * DAY_MS)])
    const signIns = { prune: async () => undefined }
    const log = createLog('silent')
    const kept = async (delivered: number): Promise<number[]> => {
      await prune({ store, signIns, auditDays: 1, delivered: async () => delivered, log, now: () => now })
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
        return posting(receiver.url)
      },
    })
    await events.subscription([CREATED], [await events.destination(receiver.url)])
    await events.happen(CREATED)
    await until(
      async () =>
        (await engine.deliveries())[0]?.failing_since !== null && (await engine.deliveries()).length === 1,
    )
    assert.doesNotMatch((await engine.deliveries())[0]?.last_error ?? '', /secrets/)
    broken = false
    await receiver.until(() => receiver.events.length === 1)
  })
})
