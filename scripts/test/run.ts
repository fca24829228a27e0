import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../package/bundle.ts'
import { buildFiles } from './build-files.ts'
import { buildProgram } from './build-program.ts'
import { fastFiles } from './fast-files.ts'

// npm test: all tests, with the program as the packages have it. npm run test:fast: those that start no program.
const { values } = parseArgs({ options: { fast: { type: 'boolean', default: false } } })
const all = globSync('test/**/*.test.ts', { cwd: root }).toSorted()
const files = values.fast ? fastFiles(all) : all
if (!values.fast) await buildProgram()
const bundles = await buildFiles(files)
const options = ['--test', '--enable-source-maps', '--test-concurrency=3', '--test-timeout=600000']
const { status } = spawnSync(
  process.execPath,
  [...options, ...(values.fast ? ['--test-reporter=dot'] : []), ...bundles],
  {
    cwd: root,
    env: {
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
      TEST_BUILT: 'yes',
      ...process.env,
    },
    stdio: 'inherit',
  },
)
console.log(`${files.length} test files`)
process.exitCode = status ?? 1
