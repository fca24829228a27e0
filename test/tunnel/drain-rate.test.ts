import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { DrainRate } from '#tunnel/drain-rate.ts'

const LEAST = 32_768
const MOST = 262_144

suite('how many bytes may wait for a socket', () => {
  test('is little at first, and much as soon as the socket has taken much', context => {
    context.mock.method(performance, 'now', () => 0)
    const rate = new DrainRate()
    assert.equal(rate.waiting, LEAST)
    for (let taken = 0; taken < 3_000_000; taken += rate.waiting) rate.took(rate.waiting)
    assert.equal(rate.waiting, MOST)
  })

  test('is what the socket takes in a tenth of a second, also if it takes that in bursts', context => {
    const clock = { now: 0 }
    context.mock.method(performance, 'now', () => clock.now)
    const rate = new DrainRate()
    for (let round = 0; round < 100; round++) {
      clock.now += 250
      for (let taken = 0; taken < 320_000; taken += LEAST) rate.took(LEAST)
    }
    assert.ok(rate.waiting > 100_000 && rate.waiting < 170_000, `${rate.waiting}`)
  })

  test('is little again on a link that has become slow', context => {
    const clock = { now: 0 }
    context.mock.method(performance, 'now', () => clock.now)
    const rate = new DrainRate()
    for (let taken = 0; taken < 8_000_000; taken += MOST) rate.took(MOST)
    for (let round = 0; round < 20; round++) {
      clock.now += 500
      rate.took(LEAST)
    }
    assert.equal(rate.waiting, LEAST)
  })
})
