import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { Batch } from '#events/batch.ts'
import type { OutgoingEvent } from '#events/destination.ts'

const event = (body: string): OutgoingEvent => ({
  id: 'ev_1',
  type: 'a.v0',
  at: '2026-01-01T00:00:00Z',
  body,
})
const count = (bodies: readonly string[], maxBytes: number): number => {
  const batch = new Batch({ maxEvents: 100, maxBytes })
  bodies.every(body => batch.add(event(body)))
  return batch.events.length
}

suite('a batch', () => {
  test('has exactly as many bytes of UTF-8 as are allowed', () => {
    for (const [character, bytes] of [
      ['a', 1],
      ['é', 2],
      ['€', 3],
      ['😀', 4],
    ] as const) {
      const bodies = Array.from({ length: 10 }, () => character.repeat(5))
      assert.equal(count(bodies, 7 * 5 * bytes), 7, character)
      assert.equal(count(bodies, 7 * 5 * bytes - 1), 6, character)
    }
  })

  test('accepts a shorter event after one that does not fit, and a longer first one alone', () => {
    const batch = new Batch({ maxEvents: 100, maxBytes: 10 })
    assert.deepEqual(
      ['123456', '12345', '1234', '1'].map(body => batch.add(event(body))),
      [true, false, true, false],
    )
    assert.equal(count(['12345678901', '1'], 10), 1)
  })

  test('has no more events than are allowed', () => {
    const batch = new Batch({ maxEvents: 2, maxBytes: 100 })
    assert.deepEqual(
      ['1', '2', '3'].map(body => batch.add(event(body))),
      [true, true, false],
    )
  })
})
