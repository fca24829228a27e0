import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { suite, test } from 'node:test'

const root = join(import.meta.dirname, '../../..')
const skip = process.env['TEST_LONG'] !== '1' && 'takes ten minutes; TEST_LONG=1'
const MAX_MS = 1_200_000

/** Besides SQLite with one process, which every run has. */
const places = [
  { TEST_DATABASE: 'sqlite', TEST_WORKERS: '2' },
  { TEST_DATABASE: 'postgres', TEST_WORKERS: '1' },
  { TEST_DATABASE: 'postgres', TEST_WORKERS: '2' },
]

suite('all tests of the dashboard', () => {
  const files = globSync('test/ui/dashboard/*.test.ts', { cwd: root }).filter(
    file => !/(matrix|journey|nodes)\.test\.ts$/.test(file),
  )
  for (const place of places)
    test(
      `hold on ${place.TEST_DATABASE} with ${place.TEST_WORKERS} processes`,
      { skip, timeout: MAX_MS },
      async () => {
        const { NODE_TEST_CONTEXT: _, TEST_LONG: __, ...inherited } = process.env
        const child = spawn(process.execPath, ['--test', '--test-concurrency=1', ...files], {
          cwd: root,
          env: { ...inherited, ...place },
          stdio: ['ignore', 'pipe', 'inherit'],
        })
        const [output, code] = await Promise.all([
          text(child.stdout),
          new Promise(resolve => child.once('close', resolve)),
        ])
        assert.equal(code, 0, output)
      },
    )
})
