import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { catalog, type CatalogEntry } from '#base/catalog.ts'

/** Numbers below are those of the public catalogue, some of which have several messages. */
const FIRST_OWN = 90_001

suite('the error catalogue', () => {
  test('has one meaning for each number of its own', () => {
    const entries = Object.entries<CatalogEntry>(catalog)
    const byNumber = Map.groupBy(entries, ([, { number = 0 }]) => number)
    const shared = [...byNumber].filter(([number, all]) => number >= FIRST_OWN && all.length > 1)
    assert.deepEqual(
      shared.map(([number, all]) => [number, ...all.map(([name]) => name)]),
      [],
    )
  })
})
