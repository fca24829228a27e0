import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs'
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

/** A digest of everything that the bundle is made of. */
function sourcesKey() {
  const hash = createHash('sha256')
  for (const folder of ['src', 'scripts/package'])
    for (const entry of readdirSync(join(root, folder), { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue
      const path = join(entry.parentPath, entry.name)
      hash.update(`\n${path}\n`).update(readFileSync(path))
    }
  for (const file of ['package.json', 'package-lock.json']) hash.update(readFileSync(join(root, file)))
  return hash.digest('hex').slice(0, 32)
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
