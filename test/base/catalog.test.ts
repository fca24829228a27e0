import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import type { CatalogEntry } from '#base/catalog/entry.ts'
import { catalog } from '#base/catalog.ts'

/** Numbers below are those of the public catalogue, some of which have several messages. */
const FIRST_OWN = 90_001

const root = join(import.meta.dirname, '../..')

suite('the error catalogue', () => {
  test('has every entry of its files once', () => {
    const declared = globSync('src/base/catalog/*.ts', { cwd: root }).flatMap(file =>
      [...readFileSync(join(root, file), 'utf8').matchAll(/^ {2}(\w+): \{/gm)].map(([, name = '']) => name),
    )
    assert.deepEqual(declared.toSorted(), Object.keys(catalog).toSorted())
  })

  test('has one meaning for each of its numbers', () => {
    const entries = Object.entries<CatalogEntry>(catalog)
    const byNumber = Map.groupBy(entries, ([, { number = 0 }]) => number)
    const shared = [...byNumber].filter(([number, all]) => number >= FIRST_OWN && all.length > 1)
    assert.deepEqual(
      shared.map(([number, all]) => [number, ...all.map(([name]) => name)]),
      [],
    )
  })
})
