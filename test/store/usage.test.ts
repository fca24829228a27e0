import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LatencyHistogram } from '#base/latency-histogram.ts'
import type { Store } from '#store/store.ts'
import { HOUR, MINUTE, type UsageAddition, type UsageEntry, type UsagePeriods } from '#store/usage.ts'
import { forEachDriver } from './drivers.ts'

const START = 1_800_000_000 - (1_800_000_000 % HOUR)
const limits = { series: 100, seriesOfOwner: 75, other: '-' }
const periods: UsagePeriods = {
  resolution: MINUTE,
  dimension: 'endpoint',
  from: START,
  until: START + HOUR,
}

function latencyOf(...ms: readonly number[]): string {
  const histogram = new LatencyHistogram()
  for (const each of ms) histogram.add(each)
  return histogram.encode()
}

const entry = (series: string, fields: Partial<UsageEntry> = {}): UsageEntry => ({
  owner: 'usr_1',
  series,
  requests: 1,
  errors: 0,
  bytesIn: 10,
  bytesOut: 100,
  latency: latencyOf(5),
  ...fields,
})

let number = 0
const addition = (entries: readonly UsageEntry[], fields: Partial<UsageAddition> = {}): UsageAddition => ({
  writer: 'uw_1',
  number: ++number,
  resolution: MINUTE,
  start: START,
  dimension: 'endpoint',
  limits,
  entries,
  ...fields,
})

const requestsIn = async (store: Store, of: Partial<UsagePeriods> = {}): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await store.usage.totals({ ...periods, ...of }, 1000)).map(it => [
      `${it.owner} ${it.series}`,
      it.requests,
    ]),
  )

forEachDriver('usage', ({ name, newDatabase }) => {
  test('is summed in its period, and survives a restart', async () => {
    const open = await newDatabase()
    {
      await using store = await open()
      await store.usage.add(addition([entry('a', { errors: 1 }), entry('b', { requests: 7 })]))
      await store.usage.add(addition([entry('a', { latency: latencyOf(500) })]))
      await store.usage.add(addition([entry('a')], { start: START + MINUTE }))
    }
    await using store = await open()
    const totals = await store.usage.totals(periods, 10)
    assert.deepEqual(totals, [
      { owner: 'usr_1', series: 'b', requests: 7, errors: 0, bytesIn: 10, bytesOut: 100 },
      { owner: 'usr_1', series: 'a', requests: 3, errors: 1, bytesIn: 30, bytesOut: 300 },
    ])
    assert.deepEqual(await store.usage.totals(periods, 10, ['a']), totals.slice(1))
    assert.deepEqual(await store.usage.totals(periods, 10, ['a', 'b', 'c']), totals)
    assert.deepEqual(await store.usage.totals(periods, 10, []), [])
    assert.deepEqual(await store.usage.totals(periods, 1), totals.slice(0, 1))
    assert.deepEqual(await store.usage.sum(periods), {
      requests: 10,
      errors: 1,
      bytesIn: 40,
      bytesOut: 400,
    })
    const points = await store.usage.points(periods, { owner: 'usr_1', series: 'a' })
    assert.deepEqual(
      points.map(({ start, requests, latency }) => [start, requests, latency]),
      [
        [START, 2, latencyOf(5, 500)],
        [START + MINUTE, 1, latencyOf(5)],
      ],
    )
  })

  test('of several writers at once loses nothing', async () => {
    const open = await newDatabase()
    await using one = await open()
    // SQLite belongs to one server at a time.
    await using other = name === 'postgres' ? await open() : undefined
    const stores = [one, other ?? one]
    const rounds = 20
    await Promise.all(
      stores.map(async (store, writer) => {
        for (let round = 0; round < rounds; round++)
          await store.usage.add(
            addition([entry('a', { latency: latencyOf(round + 1) }), entry(`own ${writer}`)], {
              writer: `uw_${writer}`,
            }),
          )
      }),
    )
    assert.deepEqual(await requestsIn(one), {
      'usr_1 a': 2 * rounds,
      'usr_1 own 0': rounds,
      'usr_1 own 1': rounds,
    })
    const [point] = await one.usage.points(periods, { owner: 'usr_1', series: 'a' })
    const each = Array.from({ length: rounds }, (_, round) => round + 1)
    assert.equal(point?.latency, latencyOf(...each, ...each))
  })

  test('is not added twice when an addition is repeated', async () => {
    await using store = await (await newDatabase())()
    const first = addition([entry('a')])
    await store.usage.add(first)
    await store.usage.add(first)
    assert.deepEqual(await requestsIn(store), { 'usr_1 a': 1 })
    await store.usage.add({ ...first, writer: 'uw_2' })
    assert.deepEqual(await requestsIn(store), { 'usr_1 a': 2 })
    await store.usage.forgetWriters(START)
    await store.usage.add(first)
    assert.deepEqual(await requestsIn(store), { 'usr_1 a': 2 }, 'those of this period are still known')
  })

  test('beyond the limits is added to the rest of its owner, or of all', async () => {
    await using store = await (await newDatabase())()
    const few = { series: 4, seriesOfOwner: 2, other: '-' }
    const entries = ['a', 'b', 'c', 'd'].map(series => entry(series))
    await store.usage.add(addition(entries, { limits: few }))
    assert.deepEqual(await requestsIn(store), { 'usr_1 a': 1, 'usr_1 b': 1, 'usr_1 -': 2 })
    const others = ['usr_2', 'usr_3'].map(owner => entry('a', { owner, requests: 5 }))
    await store.usage.add(addition([...others, entry('e'), entry('a')], { limits: few }))
    assert.deepEqual(await requestsIn(store), {
      'usr_2 a': 5,
      '- -': 5,
      'usr_1 -': 3,
      'usr_1 a': 2,
      'usr_1 b': 1,
    })
    await store.usage.add(addition([entry('c')], { limits: few, start: START + MINUTE }))
    assert.equal((await requestsIn(store))['usr_1 c'], 1, 'the next period has room again')
  })

  test('is limited to owners, dimension, resolution and time', async () => {
    await using store = await (await newDatabase())()
    await store.usage.add(addition([entry('a'), entry('b', { owner: '' }), entry('c', { owner: 'usr_2' })]))
    await store.usage.add(addition([entry('cr')], { dimension: 'credential' }))
    await store.usage.add(addition([entry('a', { requests: 9 })], { resolution: HOUR }))
    await store.usage.add(addition([entry('late')], { start: START + HOUR }))
    assert.deepEqual(await requestsIn(store, { owners: ['usr_1', ''] }), { ' b': 1, 'usr_1 a': 1 })
    assert.deepEqual(await store.usage.sum({ ...periods, owners: ['usr_3'] }), {
      requests: 0,
      errors: 0,
      bytesIn: 0,
      bytesOut: 0,
    })
    assert.deepEqual(await requestsIn(store, { dimension: 'credential' }), { 'usr_1 cr': 1 })
    assert.deepEqual(await requestsIn(store, { resolution: HOUR }), { 'usr_1 a': 9 })
    assert.equal((await requestsIn(store))['usr_1 late'], undefined)
  })

  test('expires by resolution', async () => {
    await using store = await (await newDatabase())()
    for (const resolution of [MINUTE, HOUR] as const)
      await store.usage.add(addition([entry('a'), entry('b')], { resolution }))
    await store.usage.add(addition([entry('a')], { start: START + MINUTE }))
    await store.usage.prune(MINUTE, START + MINUTE)
    assert.deepEqual(await requestsIn(store), { 'usr_1 a': 1 })
    assert.deepEqual(await requestsIn(store, { resolution: HOUR }), { 'usr_1 a': 1, 'usr_1 b': 1 })
  })
})
