import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

interface Entry {
  readonly integrity?: string
  readonly resolved?: string
  readonly link?: boolean
}

const path = join(import.meta.dirname, '../../package-lock.json')
const { packages } = JSON.parse(readFileSync(path, 'utf8')) as { packages: Readonly<Record<string, Entry>> }
/** Folders of this repository, which are linked instead of installed. */
const folders = new Set(Object.values(packages).flatMap(({ link, resolved }) => (link ? [resolved] : [])))
const entries = Object.entries(packages).filter(
  ([name, { link }]) => name !== '' && !link && !folders.has(name),
)

test('every package of the lock file has the hash of its content', () => {
  assert.ok(entries.length > 100)
  const without = entries.filter(([, { integrity = '' }]) => !/^sha512-[\w+/]{86}==$/.test(integrity))
  assert.deepEqual(
    without.map(([name]) => name),
    [],
  )
})

test('no package of the lock file names the registry that it came from', () => {
  assert.deepEqual(
    entries.filter(([, { resolved }]) => resolved !== undefined).map(([name]) => name),
    [],
  )
})
