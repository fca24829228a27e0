import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '..')
/** A row of the table: item, requirement, and `file`: name of the test. */
const ROW = /^\| V\d.*\| `(?<file>test\/[^`]+)`: (?<name>.+?) +\|$/gm

test('every test that SECURITY.md names exists', () => {
  const text = readFileSync(join(root, 'SECURITY.md'), 'utf8')
  const named = [...text.matchAll(ROW)].map(({ groups }) => groups ?? {})
  const [, table = ''] = /## Verified requirements[^]*?\n\n(\|[^]*?)\n\n/.exec(text) ?? []
  assert.equal(named.length, table.match(/^\| V\d/gm)?.length, 'each row names a file and a test')
  const missing = named.filter(({ file = '', name = '' }) => {
    const path = join(root, file)
    const source = existsSync(path) ? readFileSync(path, 'utf8') : ''
    // A test for each of many has its subject in its name.
    return !source.includes(`test('${name}'`) && !source.includes(`test(\`${name}\``)
  })
  assert.deepEqual(missing, [])
})
