import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { fullJitter } from '#base/backoff.ts'

suite('a delay with full jitter', () => {
  const delays = (counts: readonly number[], random?: () => number): number[] =>
    counts.map(failures => fullJitter(failures, { baseMs: 100, capMs: 1000, ...(random && { random }) }))

  test('has a bound that doubles up to the cap', () => {
    assert.deepEqual(
      delays([0, 1, 2, 3, 4, 5, 10_000], () => 1),
      [100, 200, 400, 800, 1000, 1000, 1000],
    )
  })

  test('is anywhere from nothing to the bound', () => {
    assert.deepEqual(
      delays([0, 1, 9], () => 0),
      [0, 0, 0],
    )
    assert.deepEqual(
      delays([0, 1, 9], () => 0.5),
      [50, 100, 500],
    )
  })

  test('differs from one to the next', () => {
    const found = delays(Array<number>(50).fill(9))
    assert.ok(found.every(delay => delay >= 0 && delay < 1000))
    assert.ok(new Set(found).size > 1)
  })
})
