import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { Folder } from './support/folder.ts'
import { groupFiles } from '../scripts/test/groups.ts'

const root = join(import.meta.dirname, '..')
const passing = `import { test } from 'node:test'\ntest('passes', () => undefined)\n`

/** Runs test files as npm run test:fast does. */
function runFiles(
  texts: Record<string, string>,
  environment: NodeJS.ProcessEnv = {},
): { status: number | null; output: string } {
  using folder = new Folder()
  const files = Object.entries(texts).map(([name, text]) => {
    const path = join(folder.path, name)
    writeFileSync(path, text)
    return path
  })
  const args = ['scripts/test/run.ts', '--fast', '--out', join(folder.path, 'out'), ...files]
  // Node runs no tests inside of a test.
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined, ...environment }
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, env, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

suite('the test runner', () => {
  test('succeeds when a test of each file passes', () => {
    const { status, output } = runFiles({ 'one.test.ts': passing, 'two.test.ts': passing })
    assert.equal(status, 0, output)
    assert.match(output, /^2 tests in 2 files and 1 processes/m)
  })

  test('succeeds when all tests of a file are skipped with a reason', () => {
    const skipped = passing.replace("',", "', { skip: 'takes a minute' },")
    const suites = skipped.replace('test }', 'suite as test }')
    const { status, output } = runFiles({ 'tests.test.ts': skipped, 'suites.test.ts': suites })
    assert.equal(status, 0, output)
  })

  test('fails when a test fails', () => {
    const failing = passing.replace('undefined', '{ throw new Error() }')
    const { status, output } = runFiles({ 'good.test.ts': passing, 'bad.test.ts': failing })
    assert.equal(status, 1, output)
  })

  for (const [what, text] of Object.entries({
    'has no tests': 'globalThis.name = 1\n',
    'skips all of its tests without a reason': passing.replace("',", "', { skip: true },"),
  }))
    test(`fails when a file ${what}`, () => {
      const { status, output } = runFiles({ 'good.test.ts': passing, 'empty.test.ts': text })
      assert.equal(status, 1, output)
      assert.match(output, /empty\.test\.ts ran no test$/m)
      assert.doesNotMatch(output, /good\.test\.ts ran no test$/m)
    })

  test('fails when a file ends before its tests do', () => {
    const leaving = `${passing}test('ends', () => process.exit(0))\ntest('is late', () => undefined)\n`
    const { status, output } = runFiles({ 'good.test.ts': passing, 'leaving.test.ts': leaving })
    assert.equal(status, 1, output)
  })

  test('fails when an error is thrown outside of the tests, and shows it', () => {
    const throwing = `import { once } from 'node:events'
import { test } from 'node:test'
test('waits', async () => {
  setTimeout(() => { throw new Error('not caught') }, 1)
  await once(process, 'uncaughtExceptionMonitor')
})
test('rejects', async () => {
  void Promise.reject(new Error('not handled'))
  await new Promise(setImmediate)
})
`
    const { status, output } = runFiles({ 'good.test.ts': passing, 'throwing.test.ts': throwing })
    assert.equal(status, 1, output)
    assert.match(output, /Error: not caught\n +at .*throwing\.test\.ts:4/)
    assert.match(output, /Error: not handled\n +at .*throwing\.test\.ts:8/)
  })

  test('fails when a suite declares a test after its file', () => {
    const late = `import { suite, test } from 'node:test'
test('passes', () => undefined)
suite('late', async () => {
  await new Promise(setImmediate)
  test('without its suite', () => undefined)
})
`
    const { status, output } = runFiles({ 'late.test.ts': late })
    assert.equal(status, 1, output)
    assert.match(output, /^"without its suite" is declared after its file/m)
  })

  test('applies the hooks at the top level of a file only to its own tests', () => {
    const hooks = `import { beforeEach, test } from 'node:test'
let calls = 0
beforeEach(() => { calls += 1 })
test('is alone', () => { if (calls !== 1) throw new Error() })
`
    const counted = hooks.replace("'is alone'", "'is alone too'")
    const { status, output } = runFiles({ 'a.test.ts': hooks, 'b.test.ts': counted })
    assert.equal(status, 0, output)
  })

  const writing = `import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
test('writes', () => {
  writeFileSync(tmpdir() + '/left', '')
  console.error('in <' + tmpdir() + '>')
})
`
  test('uses the folder that TMPDIR names, and leaves it', () => {
    using folder = new Folder()
    const { output } = runFiles({ 'writing.test.ts': writing }, { TMPDIR: folder.path })
    assert.ok(output.includes(`in <${folder.path}>`), output)
    assert.ok(existsSync(folder.file('left')))
  })

  test('removes the folder in memory that it uses otherwise', () => {
    const { status, output } = runFiles({ 'writing.test.ts': writing }, { TMPDIR: undefined })
    assert.equal(status, 0, output)
    const [, path = ''] = /in <(.*)>/.exec(output) ?? []
    // On a machine without room in memory it is the folder of the system.
    if (path === '/tmp') rmSync('/tmp/left')
    else assert.match(path, /^\/dev\/shm\/adit-/)
    assert.equal(existsSync(path), path === '/tmp')
  })
})

suite('the groups of test files', () => {
  const grouped = (texts: Record<string, string>) =>
    groupFiles(Object.keys(texts), file => texts[file] ?? '').map(({ files }) => files)

  test('keep folders apart, and have a bounded size', () => {
    const names = Array.from({ length: 10 }, (_, at) => `test/a/${at}.test.ts`)
    const groups = grouped(Object.fromEntries([...names, 'test/b/0.test.ts'].map(name => [name, passing])))
    assert.deepEqual(groups, [names.slice(0, 5), names.slice(5), ['test/b/0.test.ts']])
  })

  for (const [what, text] of Object.entries({
    'changes the environment': `process.env['A'] = 'b'`,
    'removes a variable': `delete process.env['A']`,
    'takes the uncaught errors': `process.on('uncaughtException', note)`,
    'replaces timers': `context.mock.timers.enable()`,
    'measures memory': `process.memoryUsage.rss()`,
  }))
    test(`leave a file alone that ${what}`, () => {
      const groups = grouped({
        'test/a/1.test.ts': passing,
        'test/a/2.test.ts': text,
        'test/a/3.test.ts': passing,
      })
      assert.deepEqual(groups, [['test/a/2.test.ts'], ['test/a/1.test.ts', 'test/a/3.test.ts']])
    })

  test('share a process with a file that reads the environment', () => {
    const reading = `const long = process.env['TEST_LONG'] === '1'`
    assert.equal(grouped({ 'test/a/1.test.ts': passing, 'test/a/2.test.ts': reading }).length, 1)
  })
})
