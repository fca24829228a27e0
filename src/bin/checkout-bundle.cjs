import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
const packages = join(root, 'node_modules')
const BUILD_MS = 120_000

/**
 * The program of this checkout as one bundle, built if the sources have changed since the last start: it needs 50 MB
 * less than a thousand source files. Undefined where it cannot be built: without the development dependencies, or where
 * this user may not write.
 *
 * @returns {string | undefined}
 */
export function checkoutBundle() {
  const folder = join(packages, '.cache/program', sourcesKey())
  const main = join(folder, 'lib/main.mjs')
  if (existsSync(main)) return main
  if (!existsSync(join(packages, 'esbuild')) || !isWritable(packages)) return undefined
  try {
    // In a process of its own: the memory of the bundler would stay.
    const args = ['--disable-warning=ExperimentalWarning', join(root, 'scripts/build-program.ts'), folder]
    execFileSync(process.execPath, args, { stdio: 'ignore', timeout: BUILD_MS })
    return main
  } catch {
    return undefined
  }
}

/** A digest of the paths, sizes and times of everything that the bundle is made of; to read it all would cost 3 MB. */
function sourcesKey() {
  const hash = createHash('sha256')
  for (const name of ['package.json', 'package-lock.json', 'scripts/package', 'src'])
    add(hash, `${root}/${name}`)
  return hash.digest('hex').slice(0, 32)
}

/**
 * @param {import('node:crypto').Hash} hash
 * @param {string} path
 */
function add(hash, path) {
  const status = statSync(path)
  if (status.isDirectory()) for (const name of readdirSync(path)) add(hash, `${path}/${name}`)
  else hash.update(`${path}\n${status.size} ${status.mtimeMs}\n`)
}

/** @param {string} folder */
function isWritable(folder) {
  try {
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}
