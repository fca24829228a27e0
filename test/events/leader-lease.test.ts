import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeliveryCursor, cursorRow, newCursor } from '#events/cursor.ts'
import { LeaderLease, LeaseLost } from '#events/leader-lease.ts'
import { openSqlite } from '#store/sqlite.ts'
import type { Store } from '#store/store.ts'
import { forEachDriver } from '../store/drivers.ts'
import { until } from '../support/until.ts'

const LEASE_MS = 400

const leadOf = (
  store: Store,
  options: Partial<ConstructorParameters<typeof LeaderLease>[0]> = {},
): LeaderLease =>
  new LeaderLease({
    store,
    alone: false,
    leaseMs: LEASE_MS,
    now: Date.now,
    begin: async () => ({ sequence: 7, writes: [] }),
    ...options,
  })

/** Resolves while it is the leader: its time can be over before its own write has returned. */
const takes = (lease: LeaderLease): Promise<true> =>
  until(async () => {
    await lease.renew()
    return lease.isLeader
  })

forEachDriver('lead', ({ newDatabase }) => {
  test('is acquired by one of many at the same time', async () => {
    await using store = await (await newDatabase())()
    const leads = Array.from({ length: 8 }, () => leadOf(store, { leaseMs: 60_000 }))
    await Promise.all(leads.map(lease => lease.renew()))
    await Promise.all(leads.map(lease => lease.renew()))
    const [held, ...others] = leads.filter(lease => lease.isLeader)
    assert.equal(others.length, 0)
    assert.equal(held?.sequence, 7)
    assert.equal(held?.epoch, 1)
  })

  test('is acquired by another when it expires, and then all writes of the former leader are refused', async () => {
    await using store = await (await newDatabase())()
    const [one, other] = [leadOf(store), leadOf(store)]
    await one.renew()
    one.advance(9)
    await one.renew()
    await takes(other)
    assert.equal(other.sequence, 9)
    assert.equal(other.epoch, 2)
    assert.equal(one.isLeader, false, 'it knew before that its time was over')
    await assert.rejects(one.commit([]), LeaseLost)
    await one.renew()
    assert.equal(one.isLeader, false)
    await other.release()
    await takes(one)
    assert.equal(one.epoch, 3)
  })

  test('is kept while it is renewed', async () => {
    await using store = await (await newDatabase())()
    const leaseMs = 60
    const [one, other] = [leadOf(store, { leaseMs }), leadOf(store, { leaseMs })]
    const end = Date.now() + 3 * leaseMs
    while (Date.now() < end) {
      await one.renew()
      await other.renew()
      assert.equal(other.isLeader, false)
    }
    assert.equal(one.epoch, 1)
  })

  test('keeps the former leader from writing to a cursor that was taken over', async () => {
    await using store = await (await newDatabase())()
    const body = newCursor('esb_1', 'ed_1', { sequence: 1, sources: [], epoch: 1 })
    const row = cursorRow(body, 1)
    await store.commit([{ op: 'insert', entry: { row, refs: [], claims: [] } }])
    const old = await DeliveryCursor.take(store, row.id, 1)
    await old?.write({ sequence: 2 })
    const taken = await DeliveryCursor.take(store, row.id, 2)
    assert.equal(taken?.body.sequence, 2)
    await assert.rejects(old?.write({ sequence: 3 }) ?? Promise.resolve(), LeaseLost)
    await assert.rejects(old?.commit([]) ?? Promise.resolve(), LeaseLost)
    assert.equal(await DeliveryCursor.take(store, row.id, 1), undefined)
    await taken?.write({ sequence: 4 })
    const { body: written = '' } = (await store.get(row.id)) ?? {}
    assert.equal(JSON.parse(written).sequence, 4)
  })
})

test('a clock that is set forward ends the lease until it is renewed, and one that is set back does not extend it', async () => {
  await using store = await openSqlite(':memory:')
  let shift = 0
  const lease = leadOf(store, { now: () => Date.now() + shift })
  await lease.renew()
  shift = 3_600_000
  assert.equal(lease.isLeader, false)
  await takes(lease)
  shift = -3_600_000
  await until(() => !lease.isLeader)
})

test('a server that is alone on its store is leader at once and writes no renewals', async () => {
  await using store = await openSqlite(':memory:')
  await leadOf(store).renew()
  const lease = leadOf(store, { alone: true })
  await lease.renew()
  assert.equal(lease.isLeader, true)
  const revision = await store.revision()
  await lease.renew()
  assert.equal(await store.revision(), revision)
})

test('the row of an earlier release is taken over with its position', async () => {
  await using store = await openSqlite(':memory:')
  const row = { id: 'event_reader', kind: 'event_reader', parent: null, version: 1, body: '{"sequence":41}' }
  await store.commit([{ op: 'insert', entry: { row, refs: [], claims: [] } }])
  const lease = leadOf(store)
  await takes(lease)
  assert.equal(lease.sequence, 41)
})
