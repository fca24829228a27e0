import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEAD_LETTERS } from '#events/dead-letters.ts'
import type { DeliveryFilter } from '#events/delivery-status.ts'
import type { StoredTarget } from '#events/deliveries.ts'
import { forEachDriver } from '../store/drivers.ts'
import { MANY_EVENTS, EventWorld, httpDestination, Receiver } from './support.ts'
import { until } from '../support/until.ts'

const CREATED = 'ip_policy_created.v0'
const DELETED = 'ip_policy_deleted.v0'
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

forEachDriver('event delivery', ({ newDatabase }) => {
  const world = async (): Promise<EventWorld> => new EventWorld(await (await newDatabase())())

  test('delivers every event once, in order, in batches as large as the destination accepts', async () => {
    await using receiver = await Receiver.start()
    await using events = await world()
    await events.engine()
    await events.subscription([CREATED], [await events.destination(receiver.url)])
    await events.emit(CREATED, 250)
    await events.emit(DELETED, 3)
    await events.emit(CREATED, 1)
    await receiver.until(() => receiver.events.length >= 251)
    assert.deepEqual(receiver.numbers, [...upTo(250), 253])
    assert.ok(receiver.batches.length <= 4, `${receiver.batches.length} batches`)
    assert.ok(receiver.batches.every(batch => batch.length <= 100))
  })

  test('keeps a batch within the byte limit of the destination, and sends larger events alone', async () => {
    await using receiver = await Receiver.start()
    await using events = await world()
    await events.engine({ build: () => httpDestination(receiver.url, { maxEvents: 100, maxBytes: 500 }) })
    await events.subscription([CREATED], [await events.destination(receiver.url)])
    await events.emit(CREATED, 20)
    await receiver.until(() => receiver.events.length >= 20)
    assert.deepEqual(receiver.numbers, upTo(20))
    assert.ok(receiver.batches.every(batch => batch.length <= 4))
  })

  test('continues after failures with the same events, in order', async () => {
    await using receiver = await Receiver.start()
    await using events = await world()
    const engine = await events.engine()
    let failures = 3
    receiver.answer = () => ({ status: failures-- > 0 ? 503 : 200 })
    const destination = await events.destination(receiver.url)
    const subscription = await events.subscription([CREATED], [destination])
    await events.emit(CREATED, 5)
    await receiver.until(() => receiver.events.length >= 5)
    assert.deepEqual(receiver.numbers, upTo(5))
    await until(async () => (await engine.deliveries())[0]?.last_success_at !== null)
    const [state] = await engine.deliveries()
    assert.equal(state?.failing_since, null)
    assert.equal(state?.last_error, 'answered 503')
    assert.match(engine.metrics(), /adit_event_attempts_total\{result="failed"\} 3/)
    assert.match(engine.metrics(), /adit_event_delivery_total\{result="delivered"\} 5/)
    const labels = `\\{subscription="${subscription}",destination="${destination}"\\}`
    for (const [name, value] of [
      ['last_success_timestamp_seconds', '1\\d{9}'],
      ['last_error_timestamp_seconds', '1\\d{9}'],
      ['failing_seconds', '0'],
    ])
      assert.match(engine.metrics(), new RegExp(`^adit_event_${name}${labels} ${value}$`, 'm'))
    assert.match(engine.metrics(), /adit_event_delivers 1\n/)
  })

  test('waits for Retry-After, and retries at once when the destination is changed', async () => {
    await using slow = await Receiver.start()
    await using other = await Receiver.start()
    await using events = await world()
    const engine = await events.engine()
    slow.answer = () => ({ status: 429, retryAfter: 3600 })
    const destination = await events.destination(slow.url)
    await events.subscription([CREATED], [destination])
    await events.emit(CREATED)
    await until(async () => typeof (await engine.deliveries())[0]?.next_try_at === 'string')
    const wait = Date.parse((await engine.deliveries())[0]?.next_try_at ?? '') - Date.now()
    assert.ok(wait > 3_500_000, `${wait} ms`)
    await events.redirect(destination, other.url)
    await other.until(() => other.events.length === 1)
    assert.equal(slow.calls, 1)
  })

  test('has batches of the current limit of the destination, although the next was read ahead', async () => {
    await using large = await Receiver.start()
    await using small = await Receiver.start()
    await using events = await world()
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    large.answer = async () => {
      await released
      return { status: 200 }
    }
    const takes = (url: string) => ({ maxEvents: url === small.url ? 3 : 10, maxBytes: 1_000_000 })
    const build = ({ webhook }: StoredTarget) =>
      httpDestination(webhook?.url ?? '', takes(webhook?.url ?? ''))
    await events.engine({ build })
    const destination = await events.destination(large.url)
    await events.subscription([CREATED], [destination])
    await events.emit(CREATED, 40)
    await until(() => large.calls === 1)
    await events.redirect(destination, small.url)
    release()
    await small.until(() => small.numbers.at(-1) === 39)
    assert.deepEqual([...large.numbers, ...small.numbers], upTo(40))
    assert.deepEqual(
      small.batches.filter(({ length }) => length > 3),
      [],
    )
  })

  test('retries a batch in parts when the limit of the destination has decreased', async () => {
    await using large = await Receiver.start()
    await using small = await Receiver.start()
    await using events = await world()
    large.answer = () => ({ status: 429, retryAfter: 3600 })
    const takes = (url: string) => ({ maxEvents: url === small.url ? 3 : 10, maxBytes: 1_000_000 })
    const build = ({ webhook }: StoredTarget) =>
      httpDestination(webhook?.url ?? '', takes(webhook?.url ?? ''))
    const engine = await events.engine({ build })
    const destination = await events.destination(large.url)
    await events.subscription([CREATED], [destination])
    await events.emit(CREATED, 10)
    await until(async () => typeof (await engine.deliveries())[0]?.next_try_at === 'string')
    await events.redirect(destination, small.url)
    await small.until(() => small.events.length >= 10)
    assert.deepEqual(small.numbers, upTo(10))
    assert.deepEqual(
      small.batches.filter(({ length }) => length > 3),
      [],
    )
  })

  test('makes dead letters only of permanently refused events, and replays them on request', async () => {
    await using receiver = await Receiver.start()
    await using events = await world()
    const engine = await events.engine()
    receiver.answer = batch => ({ status: batch.some(({ object }) => object.n === 7) ? 400 : 200 })
    await events.subscription([CREATED], [await events.destination(receiver.url)])
    await events.emit(CREATED, 20)
    await receiver.until(() => receiver.events.length >= 19)
    assert.deepEqual(
      receiver.numbers,
      upTo(20).filter(n => n !== 7),
    )
    await until(async () => (await engine.deliveries())[0]?.dead_letters === 1)
    receiver.answer = () => ({ status: 200 })
    assert.equal(await engine.replay((await engine.deliveries())[0]?.id ?? ''), true)
    await receiver.until(() => receiver.numbers.at(-1) === 7)
    await until(async () => (await engine.deliveries())[0]?.dead_letters === 0)
    assert.deepEqual(await events.store.list(DEAD_LETTERS, { limit: 10 }), [])
    assert.equal(await engine.replay('edv_none'), false)
  })

  test('makes dead letters of events that could not be delivered for too long', async () => {
    await using receiver = await Receiver.start()
    await using events = await world()
    receiver.answer = () => ({ status: 503 })
    const engine = await events.engine({
      timings: { maxWaitMs: 20, gatherMs: 1, pollMs: 20, giveUpMs: 1500 },
    })
    await events.subscription([CREATED], [await events.destination(receiver.url)])
    await events.emit(CREATED, 3)
    await until(async () => (await engine.deliveries())[0]?.dead_letters === 3)
    // What is asked for again is tried as long as what is new, although the destination has failed for too long.
    const calls = receiver.calls
    receiver.answer = () => ({ status: receiver.calls > calls + 2 ? 200 : 503 })
    await engine.replay((await engine.deliveries())[0]?.id ?? '')
    await receiver.until(() => receiver.calls > calls + 1)
    await events.emit(CREATED)
    await receiver.until(() => receiver.events.length === 4)
    assert.deepEqual(
      receiver.numbers.toSorted((left, right) => left - right),
      [0, 1, 2, 3],
    )
  })

  test('makes thousands of dead letters, and replays them in order, also after a restart', async () => {
    await using receiver = await Receiver.start()
    await using events = await world()
    receiver.answer = () => ({ status: 503 })
    const pace = { maxWaitMs: 20, gatherMs: 1, pollMs: 20, giveUpMs: 1000 }
    const engine = await events.engine({ timings: pace })
    await events.subscription([CREATED], [await events.destination(receiver.url)])
    for (let n = 0; n < 5; n++) await events.emit(CREATED, 500)
    await until(async () => (await engine.deliveries())[0]?.dead_letters === 2500, MANY_EVENTS)
    await engine.close()
    // One is refused for good: it stays, and holds up none behind it.
    receiver.answer = batch => ({ status: batch.some(({ object }) => object.n === 40) ? 400 : 200 })
    const next = await events.engine({ timings: pace })
    await until(async () => (await next.deliveries())[0]?.dead_letters === 2500, MANY_EVENTS)
    await next.replay((await next.deliveries())[0]?.id ?? '')
    await until(async () => (await events.store.list('event_replay', { limit: 1 })).length === 0, MANY_EVENTS)
    assert.deepEqual(
      receiver.numbers,
      upTo(2500).filter(n => n !== 40),
    )
    await until(async () => (await next.deliveries())[0]?.dead_letters === 1)
  })

  test('deletes thousands of dead letters with their subscription', async () => {
    await using receiver = await Receiver.start()
    await using events = await world()
    receiver.answer = () => ({ status: 503 })
    const engine = await events.engine({
      timings: { maxWaitMs: 20, gatherMs: 1, pollMs: 20, giveUpMs: 1000 },
    })
    const id = await events.subscription([CREATED], [await events.destination(receiver.url)])
    await events.emit(CREATED, 1200)
    await until(async () => (await engine.deliveries())[0]?.dead_letters === 1200, MANY_EVENTS)
    await events.unsubscribe(id)
    await until(async () => (await events.store.list('event_cursor', { limit: 1 })).length === 0, MANY_EVENTS)
    assert.deepEqual(await events.store.list(DEAD_LETTERS, { limit: 1 }), [])
  })

  test('reports each destination separately, so that a working one does not hide a failing one', async () => {
    await using good = await Receiver.start()
    await using bad = await Receiver.start()
    await using events = await world()
    bad.answer = () => ({ status: 503 })
    const engine = await events.engine()
    const [first, second] = [await events.destination(good.url), await events.destination(bad.url)]
    const id = await events.subscription([CREATED], [first, second])
    const other = await events.subscription([DELETED], [first])
    await events.emit(CREATED)
    await good.until(() => good.events.length === 1)
    await bad.until(() => bad.calls > 1)
    const value = (name: string, destination: string): number =>
      Number(
        new RegExp(
          `^adit_event_${name}\\{subscription="${id}",destination="${destination}"\\} (\\S+)$`,
          'm',
        ).exec(engine.metrics())?.[1],
      )
    await until(() => value('last_success_timestamp_seconds', first) > 0)
    assert.equal(value('last_success_timestamp_seconds', second), 0)
    assert.equal(value('last_error_timestamp_seconds', first), 0)
    assert.ok(value('last_error_timestamp_seconds', second) > 0)
    assert.equal(value('failing_seconds', first), 0)
    await until(() => value('failing_seconds', second) > 0)
    assert.match(engine.metrics(), /adit_event_deliveries_failing 1\n/)
    const found = async (only: DeliveryFilter): Promise<string[]> =>
      (await engine.deliveries(only)).map(each => `${each.subscription_id} ${each.destination_id}`).toSorted()
    assert.deepEqual(await found({ subscription_id: other }), [`${other} ${first}`])
    assert.deepEqual(
      await found({ destination_id: first }),
      [`${id} ${first}`, `${other} ${first}`].toSorted(),
    )
    assert.deepEqual(await found({ subscription_id: id, destination_id: second }), [`${id} ${second}`])
    assert.deepEqual(await found({ subscription_id: other, destination_id: second }), [])
  })

  test('applies a source from the next event on, until it is removed', async () => {
    await using receiver = await Receiver.start()
    await using events = await world()
    // Nothing is read yet: the order of writes counts, not the time of reads.
    const destination = await events.destination(receiver.url)
    await events.engine().then(engine => engine.close())
    await events.emit(CREATED)
    const id = await events.subscription([CREATED], [destination])
    await events.emit(CREATED)
    await events.emit(DELETED)
    await events.change(id, [CREATED, DELETED], [destination])
    await events.emit(DELETED)
    await events.change(id, [DELETED], [destination])
    await events.emit(CREATED)
    await events.emit(DELETED)
    await events.engine()
    await receiver.until(() => receiver.events.length >= 3)
    assert.deepEqual(receiver.numbers, [1, 3, 5])
  })

  test('drops a deleted destination or subscription, with all pending events', async () => {
    await using good = await Receiver.start()
    await using bad = await Receiver.start()
    await using events = await world()
    const refused: (number | undefined)[] = []
    bad.answer = batch => {
      refused.push(...batch.map(({ object }) => object.n))
      return { status: 503 }
    }
    const engine = await events.engine()
    const [first, second] = [await events.destination(good.url), await events.destination(bad.url)]
    const id = await events.subscription([CREATED], [first, second])
    await events.emit(CREATED)
    await good.until(() => good.events.length === 1)
    await events.change(id, [CREATED], [first])
    await until(async () => (await engine.deliveries()).length === 1)
    await events.emit(CREATED)
    await good.until(() => good.events.length === 2)
    assert.ok(refused.every(n => n === 0))
    await events.unsubscribe(id)
    await until(async () => (await engine.deliveries()).length === 0)
    await until(async () => (await events.store.list('event_cursor', { limit: 10 })).length === 0)
  })

  test('starts with the next event where subscriptions are older than delivery itself', async () => {
    await using receiver = await Receiver.start()
    await using events = await world()
    await events.subscription([CREATED], [await events.destination(receiver.url)])
    await events.emit(CREATED, 2)
    await events.engine()
    await events.emit(CREATED)
    await receiver.until(() => receiver.events.length === 1)
    assert.deepEqual(receiver.numbers, [2])
  })

  test('reads the subscriptions where the outbox no longer has their changes', async () => {
    await using receiver = await Receiver.start()
    await using gone = await Receiver.start()
    await using events = await world()
    const engine = await events.engine()
    const left = await events.subscription([CREATED], [await events.destination(gone.url)])
    await until(async () => (await engine.deliveries()).length === 1)
    await engine.close()
    await events.unsubscribe(left)
    await events.subscription([CREATED], [await events.destination(receiver.url)])
    await events.store.prune({ changesUpTo: 0, eventsBefore: '2999-01-01T00:00:00Z' })
    await events.emit(CREATED, 2)
    const next = await events.engine()
    await receiver.until(() => receiver.events.length === 2)
    assert.equal((await next.deliveries()).length, 1)
    assert.equal((await events.store.list('event_cursor', { limit: 10 })).length, 1)
    assert.equal(gone.calls, 0)
  })

  test('reports how much of the outbox is still needed', async () => {
    await using receiver = await Receiver.start()
    await using events = await world()
    receiver.answer = () => ({ status: 503 })
    const engine = await events.engine()
    await events.subscription([CREATED], [await events.destination(receiver.url)])
    await events.emit(DELETED, 5)
    await events.emit(CREATED, 5)
    await receiver.until(() => receiver.calls > 0)
    const held = await engine.needed()
    assert.ok(held <= 7, String(held))
    await events.store.prune({ changesUpTo: 0, eventsBefore: '2999-01-01T00:00:00Z', eventsUpTo: held })
    assert.deepEqual(
      (await events.store.events(0, 10)).map(({ type }) => type).filter(type => type === CREATED).length,
      5,
    )
    receiver.answer = () => ({ status: 200 })
    await receiver.until(() => receiver.events.length === 5)
    await until(async () => (await engine.needed()) === (await events.store.lastSequence()))
  })
})
