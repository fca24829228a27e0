import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { clientNetwork } from '#base/client-network.ts'
import { FairShare } from '#base/fair-share.ts'
import { Holdings } from '#base/holdings.ts'
import { Penalties } from '#base/penalties.ts'

/** Takes one after the other, as many as there are for it. */
function greed(budget: FairShare, key: string): number {
  let count = 0
  while (budget.take([key])) count++
  return count
}

suite('a budget that many share', () => {
  test('is divided: one has its share of the whole, and the next the same of what is left', () => {
    const budget = new FairShare(1000)
    assert.deepEqual(
      ['a', 'b', 'c'].map(key => greed(budget, key)),
      [500, 250, 125],
    )
    const quarter = new FairShare(1000, 0.25)
    assert.equal(greed(quarter, 'a'), 250)
  })

  test('has room for another client when a hundred have all they can get', () => {
    const budget = new FairShare(1000)
    for (let round = 0; round < 1000; round++)
      for (let key = 0; key < 100; key++) budget.take([`greedy ${key}`])
    assert.ok(budget.free > 0)
    assert.ok(budget.take(['modest']))
  })

  test('counts for all keys at once, or for none', () => {
    const budget = new FairShare(10)
    greed(budget, 'a')
    assert.equal(budget.take(['b', 'a']), false)
    assert.equal(budget.held('b'), 0)
    budget.release(['a'], budget.held('a'))
    assert.deepEqual([budget.used, budget.held('a')], [0, 0])
  })

  test('gives each a least number as long as there is any', () => {
    const budget = new FairShare(20, 0.5, 4)
    for (const key of ['a', 'b', 'c']) greed(budget, key)
    assert.equal(budget.held('c'), 4)
    greed(budget, 'd')
    assert.equal(budget.free, 0)
  })

  test('counts a release only once', () => {
    const budget = new FairShare(4)
    const [first, second] = [budget.enter(['a']), budget.enter(['a'])]
    assert.ok(first && second)
    assert.equal(budget.enter(['a']), undefined)
    first()
    first()
    assert.deepEqual([budget.used, budget.held('a')], [1, 1])
  })
})

suite('holdings', () => {
  test('know the largest, whatever is added and removed', () => {
    const holdings = new Holdings<string>()
    const counts = new Map<string, number>()
    let random = 1
    for (let step = 0; step < 5000; step++) {
      random = (random * 48_271) % 2_147_483_647
      const key = `key ${random % 7}`
      const count = counts.get(key) ?? 0
      if (random % 3 === 0 && count > 0) {
        holdings.remove(key)
        counts.set(key, count - 1)
      } else {
        holdings.add(key)
        counts.set(key, count + 1)
      }
      const most = Math.max(...counts.values())
      assert.equal(holdings.most, most)
      assert.equal(counts.get(holdings.largest() ?? ''), most)
    }
    for (const [key, count] of counts) for (let left = count; left > 0; left--) holdings.remove(key)
    assert.deepEqual([holdings.keys, holdings.most, holdings.largest()], [0, 0, undefined])
  })
})

suite('penalties', () => {
  const limits = { threshold: 10, most: 100, sources: 4 }

  test('make a source wait from a threshold on, until all of its time is over', () => {
    let now = 0
    const penalties = new Penalties(limits, () => now)
    penalties.add('a', 'x', 6)
    assert.equal(penalties.waitOf('a', 'x'), 0)
    penalties.add('a', 'x', 6)
    assert.deepEqual([penalties.waitOf('a', 'x'), penalties.waitOf('b', 'x')], [12, 0])
    now = 11
    assert.equal(penalties.waitOf('a', 'x'), 1)
    now = 12
    assert.equal(penalties.waitOf('a', 'x'), 0)
  })

  test('of one group do not evict those of others', () => {
    const penalties = new Penalties(limits, () => 0)
    penalties.add('quiet', 'x', 50)
    for (let source = 0; source < 100; source++) penalties.add('attacked', `source ${source}`, 50)
    assert.equal(penalties.waitOf('quiet', 'x'), 50)
    assert.equal(penalties.waitOf('attacked', 'source 99'), 50)
    assert.equal(penalties.waitOf('attacked', 'source 1'), 0)
  })
})

suite('a client', () => {
  test('is one IPv4 address or the /64 of an IPv6 one', () => {
    assert.equal(clientNetwork('192.0.2.1'), '192.0.2.1')
    assert.equal(clientNetwork('::ffff:192.0.2.1'), '192.0.2.1')
    assert.equal(clientNetwork('2001:db8:1:2:3::4'), '2001:db8:1:2::/64')
    assert.equal(clientNetwork('2001:db8::4'), clientNetwork('2001:db8::5:6'))
    assert.notEqual(clientNetwork('2001:db8::4'), clientNetwork('2001:db8:0:1::4'))
    for (let count = 0; count < 10_000; count++) clientNetwork(`2001:db8::${count.toString(16)}`)
    assert.equal(clientNetwork('2001:db8::4'), '2001:db8:0:0::/64')
  })
})
