import { mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bundleServer } from './package/npm.ts'

const KEPT = 4

// node scripts/build-program.ts FOLDER: the program as the packages have it, for bin/adit of a checkout.
const [, , folder = ''] = process.argv
const { files } = await bundleServer()
// Several programs may start at once: each builds apart, and the first that is ready serves all.
const apart = `${folder}.${process.pid}`
for (const { path, content = '' } of files) {
  const file = join(apart, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}
try {
  renameSync(apart, folder)
} catch (error) {
  rmSync(apart, { recursive: true })
  if (!['EEXIST', 'ENOTEMPTY', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
}
// A few stay: a program that runs loads parts of its bundle later.
const others = readdirSync(dirname(folder)).map(name => join(dirname(folder), name))
const byAge = others.toSorted((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs)
for (const old of byAge.slice(KEPT)) rmSync(old, { recursive: true, force: true })
