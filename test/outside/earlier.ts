import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Folder } from '../support/folder.ts'
import type { Figure } from './h2spec.ts'

const root = join(import.meta.dirname, '../..')
/** No version was released. This is the last commit whose database has the schema before the present one. */
const REVISION = '06fcbc8c'

/** The faults of docs/scale-out.md. */
const TESTS = ['faults', 'nodes', 'node-workers', 'rolling', 'directory'].map(
  name => `test/cluster/${name}.test.ts`,
)

const git = (...args: readonly string[]): Buffer =>
  execFileSync('git', args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 2 ** 30 })

/** Runs the tests of clusters with nodes of an earlier revision beside those of this one. */
export async function runEarlier(names: readonly string[]): Promise<Figure[]> {
  return (names.length > 0 ? names : [REVISION]).map(beside)
}

function beside(revision: string): Figure {
  using folder = new Folder()
  const earlier = checkOut(revision, folder)
  const { status } = spawnSync(process.execPath, ['scripts/test/run.ts', ...TESTS], {
    cwd: root,
    env: { ...process.env, TEST_EARLIER: join(earlier, 'bin/adit') },
    stdio: 'inherit',
  })
  const isGood = status === 0
  return { text: `nodes of ${revision} beside this version: ${isGood ? 'passed' : 'failed'}`, isGood }
}

/** The files of a revision with their packages. */
function checkOut(revision: string, { path }: Folder): string {
  const place = join(path, 'earlier')
  mkdirSync(place)
  try {
    execFileSync('tar', ['--extract', '--directory', place], { input: git('archive', revision) })
  } catch (error) {
    throw new Error(`The program of ${revision} is missing: this needs a clone with its history.`, {
      cause: error,
    })
  }
  const lock = (folder: string): Buffer => execFileSync('sha256sum', ['package-lock.json'], { cwd: folder })
  if (lock(place).equals(lock(root))) symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))
  else execFileSync('npm', ['ci', '--silent'], { cwd: place, stdio: ['ignore', 2, 2] })
  return place
}
