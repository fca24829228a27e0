import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Backoff } from '#agent/backoff.ts'

suite('the time between two attempts', () => {
  const delays = (
    random: () => number,
    count: number,
    backoff = new Backoff({ baseMs: 500, capMs: 30_000, random }),
  ) => Array.from({ length: count }, () => backoff.next())

  test('doubles from half a second to half a minute', () => {
    const most = [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]
    assert.deepEqual(
      delays(() => 1, 8),
      most,
    )
    // Also after so many failures that the power of two is past all numbers.
    assert.equal(delays(() => 1, 5000).at(-1), 30_000)
  })

  test('is anywhere from nothing to that, so that agents do not come in step', () => {
    assert.deepEqual(
      delays(() => 0, 3),
      [0, 0, 0],
    )
    assert.deepEqual(
      delays(() => 0.5, 3),
      [250, 500, 1000],
    )
    const first = Array.from({ length: 1000 }, () => new Backoff().next())
    assert.ok(first.every(delay => delay >= 0 && delay < 500))
    const quarters = [0, 1, 2, 3].map(
      quarter => first.filter(delay => Math.floor(delay / 125) === quarter).length,
    )
    assert.ok(
      quarters.every(count => count > 150),
      String(quarters),
    )
  })

  test('starts over after a success', () => {
    const backoff = new Backoff({ baseMs: 500, capMs: 30_000, random: () => 1 })
    delays(() => 1, 5, backoff)
    backoff.reset()
    assert.equal(backoff.next(), 500)
  })
})
