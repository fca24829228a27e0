import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'

const root = join(import.meta.dirname, '..')
const EXPORTED = /^export (?:abstract )?(?:async )?(?:const|let|function\*?|class) (\w+)/gm

/** The words of every file, so that each is read and split once. */
const words = new Map(
  globSync('{src,test,bench,scripts}/**/*.{ts,tsx,mjs}', { cwd: root }).map(file => {
    const text = readFileSync(join(root, file), 'utf8')
    return [file, { text, set: new Set(text.match(/\w+/g)) }] as const
  }),
)

suite('exported functions, classes and constants', () => {
  test('are used by another file', () => {
    const users = new Map<string, number>()
    for (const { set } of words.values()) for (const word of set) users.set(word, (users.get(word) ?? 0) + 1)
    const unused: string[] = []
    for (const [file, { text }] of words)
      if (file.startsWith('src/'))
        for (const [, name = ''] of text.matchAll(EXPORTED))
          if (users.get(name) === 1) unused.push(`${file}: ${name}`)
    assert.deepEqual(unused, [], 'remove "export", or the code')
  })
})
