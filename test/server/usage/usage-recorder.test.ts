import assert from 'node:assert/strict'
import { after, before, beforeEach, suite, test } from 'node:test'
import { createLog } from '#base/log.ts'
import { cautiousClock, pruneUsage } from '#server/usage/prune-usage.ts'
import { UsageRecorder } from '#server/usage/usage-recorder.ts'
import { openSqlite } from '#store/sqlite.ts'
import { StoreError } from '#store/store-error.ts'
import type { Store } from '#store/store.ts'
import { DAY, HOUR, MINUTE, type Resolution, type UsageAddition, type UsageStore } from '#store/usage.ts'
import type { SeriesUsage } from '#telemetry/usage/series-usage.ts'

const NOON = Date.UTC(2026, 4, 1, 12)
const log = createLog('silent')

const counted = (name: string, requests = 1): SeriesUsage => ({
  by: 'endpoint',
  name,
  owner: 'usr_1',
  requests,
  errors: 0,
  bytesIn: 0,
  bytesOut: 0,
  latency: '10:1',
})

suite('the recorder of usage', () => {
  let store: Store
  let now: number
  before(() => {
    now = NOON
  })
  beforeEach(async () => {
    await store?.[Symbol.asyncDispose]()
    store = await openSqlite(':memory:')
    now = NOON
  })
  after(() => store[Symbol.asyncDispose]())

  /** All periods with traffic, in seconds after noon. */
  const periodsOf = async (
    resolution: Resolution,
    series = 'a',
  ): Promise<[start: number, requests: number][]> => {
    const periods = { resolution, dimension: 'endpoint', from: 0, until: 1e11 }
    const points = await store.usage.points(periods, { owner: 'usr_1', series })
    return points.map(({ start, requests }) => [start - NOON / 1000, requests])
  }

  test('adds to minutes, hours and days', async () => {
    {
      await using recorder = new UsageRecorder({ store, log, now: () => now })
      recorder.add([counted('a')])
      now += 59 * 60_000
      recorder.add([counted('a', 2)])
      now += 60_000
      recorder.add([counted('a', 4)])
    }
    assert.deepEqual(await periodsOf(MINUTE), [
      [0, 1],
      [59 * 60, 2],
      [HOUR, 4],
    ])
    assert.deepEqual(await periodsOf(HOUR), [
      [0, 3],
      [HOUR, 4],
    ])
    assert.deepEqual(await periodsOf(DAY), [[-12 * HOUR, 7]])
  })

  test('counts everything when the clock steps back and ahead', async () => {
    await using recorder = new UsageRecorder({ store, log, now: () => now })
    for (const step of [0, -3600_000, 7200_000, -3600_000]) {
      now += step
      recorder.add([counted('a')])
    }
    await recorder.refresh()
    assert.deepEqual(await periodsOf(HOUR), [
      [-HOUR, 1],
      [0, 2],
      [HOUR, 1],
    ])
    assert.deepEqual(await periodsOf(DAY), [[-12 * HOUR, 4]])
  })

  test('keeps what cannot be stored, and repeats what may have been stored', async () => {
    const outcomes = ['before', 'after', 'fine']
    const failing = new Proxy(store.usage, {
      get: (usage, name: keyof UsageStore) =>
        name === 'add'
          ? async (addition: UsageAddition): Promise<void> => {
              const outcome = outcomes.shift()
              if (outcome !== 'before') await usage.add(addition)
              if (outcome !== 'fine' && outcome !== undefined)
                throw new StoreError('unavailable', 'It is away.')
            }
          : usage[name],
    })
    {
      await using recorder = new UsageRecorder({ store: { usage: failing }, log, now: () => now })
      recorder.add([counted('a')])
      // The interval and the shutdown try again; one attempt each.
      await recorder.refresh()
      assert.deepEqual(await periodsOf(MINUTE), [])
      recorder.add([counted('a', 2)])
      await recorder[Symbol.asyncDispose]()
    }
    assert.deepEqual(outcomes, [])
    for (const resolution of [MINUTE, HOUR, DAY] as const)
      assert.deepEqual(
        (await periodsOf(resolution)).map(([, requests]) => requests),
        [3],
        String(resolution),
      )
  })

  test('bounds what waits for the store: minutes are dropped, hours and days are complete', async () => {
    const refusing = new Proxy(store.usage, {
      get: (usage, name: keyof UsageStore) => (isAway && name === 'add' ? fails : usage[name].bind(usage)),
    })
    const fails = (): Promise<void> => Promise.reject(new StoreError('unavailable', 'It is away.'))
    let isAway = true
    {
      await using recorder = new UsageRecorder({ store: { usage: refusing }, log, now: () => now })
      for (let minute = 0; minute < 120; minute++) {
        recorder.add([counted('a'), ...Array.from({ length: 300 }, (_, at) => counted(`other ${at}`))])
        now += 60_000
      }
      isAway = false
    }
    const minutes = await periodsOf(MINUTE)
    assert.equal(minutes.length, 30)
    assert.equal(minutes[0]?.[0], 90 * MINUTE)
    assert.deepEqual(await periodsOf(HOUR), [
      [0, 60],
      [HOUR, 60],
    ])
    const minute = {
      resolution: MINUTE as Resolution,
      dimension: 'endpoint',
      from: NOON / 1000 + 90 * MINUTE,
      until: NOON / 1000 + 91 * MINUTE,
    }
    const series = await store.usage.totals(minute, 1000)
    assert.ok(series.length <= 251, `${series.length} series in a minute`)
    assert.equal((await store.usage.sum(minute)).requests, 301)
  })

  test('is pruned by age', async () => {
    for (const days of [400, 366, 40, 31, 2, 1, 0]) {
      now = NOON - days * 86_400_000
      await using recorder = new UsageRecorder({ store, log, now: () => now })
      recorder.add([counted('a')])
    }
    await pruneUsage(store.usage, NOON)
    const ages = async (resolution: Resolution): Promise<number[]> =>
      (await periodsOf(resolution)).map(([start]) => Math.round(-start / DAY) + 0)
    assert.deepEqual(await ages(MINUTE), [1, 0])
    assert.deepEqual(await ages(HOUR), [31, 2, 1, 0])
    assert.deepEqual(await ages(DAY), [367, 41, 32, 3, 2, 1])
  })
})

suite('the clock for deletions', () => {
  test('follows a step ahead only when it lasts until the next check', () => {
    let [now, elapsed] = [NOON, 0]
    const clock = cautiousClock(
      () => now,
      () => elapsed,
    )
    now += 3600_000 + 10 * 365 * 86_400_000
    elapsed += 3600_000
    assert.equal(clock(), NOON + 3600_000, 'the clock is ten years ahead')
    now = NOON + 7200_000
    elapsed += 3600_000
    assert.equal(clock(), NOON + 7200_000, 'it is right again')
    now += 86_400_000
    elapsed += 3600_000
    assert.equal(clock(), NOON + 10_800_000)
    now += 3600_000
    elapsed += 3600_000
    assert.equal(clock(), now, 'it has stayed')
  })
})
