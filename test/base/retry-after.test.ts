import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { retryAfterMs } from '#base/retry-after.ts'

const HOUR = 3_600_000
const NOW = Date.parse('2026-11-15T10:00:00Z')

suite('the delay of a Retry-After', () => {
  const delays: readonly (readonly [string | undefined, number | undefined])[] = [
    ['0', 0],
    ['120', 120_000],
    [' 5 ', 5000],
    ['Sun, 15 Nov 2026 11:00:00 GMT', HOUR],
    ['Sun, 15 Nov 2020 11:00:00 GMT', 0],
    ['999999999', 24 * HOUR],
    ['Sun, 15 Nov 2036 11:00:00 GMT', 24 * HOUR],
    [undefined, undefined],
    ['', undefined],
    ['-1', undefined],
    ['soon', undefined],
    ['1.5', undefined],
    ['2026-11-15', undefined],
    ['9999999999999', undefined],
  ]
  for (const [header, delay] of delays)
    test(`${header === undefined ? 'that is absent' : JSON.stringify(header)} is ${delay}`, () => {
      assert.equal(retryAfterMs(header, NOW, 24 * HOUR), delay)
    })
})
