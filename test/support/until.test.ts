import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { until } from './until.ts'

suite('until', () => {
  test('returns the first that is neither undefined nor false', async () => {
    const found = [undefined, false, 0]
    assert.equal(await until(() => found.shift()), 0)
  })

  test('returns the first that fits', async () => {
    let count = 0
    assert.equal(await until(() => count++, { fits: seen => seen > 3 }), 4)
  })

  test('fails in time with its description and what was seen last', async () => {
    const waiting = until(() => 7, { what: 'all are back', fits: seen => seen === 8, withinMs: 20 })
    await assert.rejects(waiting, { message: 'not so after 20 ms: all are back; last seen: 7' })
  })

  test('fails with the source of the condition when it has no description', async () => {
    const waiting = until(() => [].length > 0, { withinMs: 20 })
    await assert.rejects(waiting, { message: /\(\) => \[\]\.length > 0; last seen: false$/ })
  })

  test('fails in time when a check does not end, and when nothing new arrives', async () => {
    const never = () => new Promise<never>(() => undefined)
    await assert.rejects(until(never, { withinMs: 20 }), { message: /last seen: 'nothing yet'$/ })
    await assert.rejects(
      until(() => false, { next: never, withinMs: 20 }),
      { message: /last seen: false$/ },
    )
  })

  test('passes on what a look throws', async () => {
    const look = () => assert.fail('it ended')
    await assert.rejects(until(look), { message: 'it ended' })
  })
})
