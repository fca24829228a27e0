const { createHash } = require('node:crypto')
const { accessSync, constants, existsSync, readdirSync, statSync } = require('node:fs')
const { join } = require('node:path')

const root = join(__dirname, '../..')
const packages = join(root, 'node_modules')
const BUILD_MS = 120_000

/**
 * The program of this checkout as one bundle, built if the sources have changed since the last start: it needs 50 MB
 * less than a thousand source files. Undefined where it cannot be built: without the development dependencies, or where
 * this user may not write.
 *
 * @returns {string | undefined}
 */
exports.checkoutBundle = function checkoutBundle() {
  const folder = join(packages, '.cache/program', sourcesKey())
  const main = join(folder, 'lib/adit.cjs')
  if (existsSync(main)) return main
  if (!existsSync(join(packages, 'esbuild')) || !isWritable(packages)) return undefined
  try {
    // Loaded only here, and the bundler in a process of its own: the memory of both would stay.
    const { execFileSync } = require('node:child_process')
    const args = ['--disable-warning=ExperimentalWarning', join(root, 'scripts/build-program.ts'), folder]
    execFileSync(process.execPath, args, { stdio: 'ignore', timeout: BUILD_MS })
    return main
  } catch {
    return undefined
  }
}

/**
 * A digest of the paths, sizes and times of everything that the bundle is made of; to read it all would cost 3 MB. One
 * list of all names and one text take 1 MB less than a walk through the folders.
 */
function sourcesKey() {
  let text = ['package.json', 'package-lock.json'].map(about).join('')
  for (const folder of ['scripts/package', 'src'])
    for (const name of readdirSync(join(root, folder), { encoding: 'utf8', recursive: true }))
      text += about(`${folder}/${name}`)
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

/** @param {string} path */
function about(path) {
  const status = statSync(`${root}/${path}`)
  return status.isFile() ? `${path}\n${status.size} ${status.mtimeMs}\n` : ''
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
