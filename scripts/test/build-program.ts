import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BUILT } from '../../test/support/program.ts'
import { bundleModules, root } from '../package/bundle.ts'
import { serverEntries } from '../package/npm.ts'

/** Bundles the program for `npm test`, with a launcher that differs from bin/adit only in what it runs. */
export async function buildProgram(): Promise<void> {
  const launcher = join(root, BUILT)
  const folder = dirname(dirname(launcher))
  rmSync(folder, { recursive: true, force: true })
  const { files } = await bundleModules(serverEntries, { target: 'node26' })
  for (const { path, content = '' } of files) write(join(folder, path), content)

  const edits = [
    ['root=$(cd -P "$(dirname "$self")" && cd .. && pwd -P)', `root='${root}'`],
    ['"$root/src/bin/adit.ts"', `'${join(folder, 'lib/main.mjs')}'`],
  ] as const
  let script = readFileSync(join(root, 'bin/adit'), 'utf8')
  for (const [from, to] of edits) {
    if (!script.includes(from)) throw new Error(`bin/adit has no ${from}`)
    script = script.replace(from, () => to)
  }
  write(launcher, script)
  chmodSync(launcher, 0o755)
}

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}
