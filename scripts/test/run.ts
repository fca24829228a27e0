import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { run } from 'node:test'
import { dot, spec } from 'node:test/reporters'
import { parseArgs } from 'node:util'
import { root } from '../package/bundle.ts'
import { buildFiles } from './build-files.ts'
import { fastFiles } from './fast-files.ts'
import { groupFiles, readSource } from './groups.ts'
import { memoryFolder } from './memory-folder.ts'
import { Tally } from './tally.ts'

// npm test: all tests. npm run test:fast: those that start no program.
// Arguments select test files: by their paths, or by how those begin.
const { values, positionals } = parseArgs({
  options: {
    fast: { type: 'boolean', default: false },
    // Not under node_modules, where Node looks for no tests.
    out: { type: 'string', default: join(root, 'dist/tests') },
  },
  allowPositionals: true,
})
const named = positionals.filter(path => path.endsWith('.ts')).map(path => relative(root, resolve(path)))
const all = globSync('test/**/*.test.ts', { cwd: root }).filter(
  file => positionals.length === 0 || positionals.some(start => file.startsWith(start)),
)
const found = [...new Set([...named, ...all])].toSorted()
const files = values.fast ? fastFiles(found, readSource) : found
if (files.length === 0) throw new Error(`no test file begins with ${positionals.join(' or ')}`)
const groups = groupFiles(files)
const bundles = await buildFiles(groups, values.out)

const folder = memoryFolder(process.env)
const stopping = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stopping.abort())
const tally = new Tally(files)
const stream = run({
  files: bundles,
  signal: stopping.signal,
  // Tests often wait, for a deadline, a retry or a lease: one for each core would leave both idle at times.
  concurrency: 2 * availableParallelism(),
  // For a process, of many files, that does not end; a test has less.
  timeout: 1_200_000,
  execArgv: ['--enable-source-maps', '--test-timeout=240000'],
  cwd: root,
  env: {
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
    ...process.env,
    ...(folder !== undefined && { TMPDIR: folder }),
  },
})
tally.follow(stream)
// The short report leaves it out, and with it errors that belong to no test.
if (values.fast) stream.on('test:stderr', ({ message }) => void process.stderr.write(message))
const report = values.fast ? stream.compose(dot) : stream.compose(new spec())
for await (const text of report) process.stdout.write(text)
console.log(tally.report(groups, bundles))
for (const file of tally.empty) console.error(`${file} ran no test`)
for (const test of tally.strays)
  console.error(`"${test}" is declared after its file: await in a hook, not in a suite`)
process.exitCode = tally.success && tally.empty.length === 0 && tally.strays.length === 0 ? 0 : 1
