import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'

const root = join(import.meta.dirname, '..')
const TYPE = /^export (?:abstract )?(?:class|interface|type) (\w+)/gm

suite('names of exported types', () => {
  test('have one meaning', () => {
    const declared = new Map<string, string[]>()
    for (const file of globSync('src/**/*.{ts,tsx}', { cwd: root }))
      for (const [, name = ''] of readFileSync(join(root, file), 'utf8').matchAll(TYPE))
        declared.set(name, [...(declared.get(name) ?? []), file])
    const several = [...declared].filter(([, files]) => files.length > 1)
    assert.deepEqual(several, [], 'rename all but one of them')
  })
})
