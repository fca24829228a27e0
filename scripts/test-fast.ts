import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

/** Runs the tests that need no other program and no PostgreSQL: those that never import `node:child_process`. */
const root = join(import.meta.dirname, '..')
const known = new Map<string, boolean>()

/** Whether a test file, or one that it imports, starts programs. */
function startsPrograms(file: string): boolean {
  const found = known.get(file)
  if (found !== undefined) return found
  known.set(file, false)
  const text = readFileSync(file, 'utf8')
  const imports = [...text.matchAll(/(?:from|import\() ?'(\.[^']+\.ts)'/g)].map(([, path = '']) =>
    join(dirname(file), path),
  )
  const starts = text.includes("'node:child_process'") || imports.some(startsPrograms)
  known.set(file, starts)
  return starts
}

const files = globSync(join(root, 'test/**/*.test.ts')).filter(file => !startsPrograms(file))
const options = ['--test', '--test-concurrency=3', '--test-timeout=60000', '--test-reporter=dot']
const { status } = spawnSync(process.execPath, [...options, ...files.map(file => relative(root, file))], {
  cwd: root,
  env: { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'), ...process.env },
  stdio: 'inherit',
})
console.log(`\n${files.length} test files`)
process.exitCode = status ?? 1
