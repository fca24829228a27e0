import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { build, type BuildOptions, type Plugin } from 'esbuild'
import { bundleDashboard } from '#api/dashboard/bundle.ts'
import { readUiFiles } from '#cli/agent/web/ui-files.ts'
import { licences } from '#server/licences.ts'
import { file, type Entry } from './archive.ts'

export const root = join(import.meta.dirname, '../..')

export interface Bundle {
  readonly files: readonly Entry[]
  /** The licences of the packages that the bundle contains. */
  readonly licences: Entry
}

/** A bundle has no folder next to it, so it embeds the inspector's files. */
const uiFiles: Plugin = {
  name: 'ui-files',
  setup: bundler => {
    bundler.onLoad({ filter: /cli[\\/]agent[\\/]web[\\/]ui-files\.ts$/ }, () => ({
      contents: `const files = new Map(${JSON.stringify([...readUiFiles()])})\nexport const uiFiles = () => files`,
      loader: 'js',
    }))
  },
}

/** The same for the dashboard; `inputs` gets the paths of its sources. */
const dashboard = (inputs: Set<string>): Plugin => ({
  name: 'dashboard',
  setup: bundler => {
    bundler.onLoad({ filter: /api[\\/]dashboard[\\/]bundle\.ts$/ }, async () => {
      const bundle = await bundleDashboard()
      for (const path of bundle.inputs) inputs.add(path)
      return {
        contents: `const files = new Map(${JSON.stringify([...bundle.files])})\nexport const bundleDashboard = async () => ({ files, inputs: [] })`,
        loader: 'js',
      }
    })
  },
})

/** The same for the licences, since a bundle has no packages next to it. */
const licenceList: Plugin = {
  name: 'licences',
  setup: bundler => {
    bundler.onLoad({ filter: /server[\\/]licences\.ts$/ }, () => ({
      contents: `const list = ${JSON.stringify(licences())}\nexport const licences = () => list`,
      loader: 'js',
    }))
  },
}

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  // Not the identifiers: stack traces name functions, and restoring their names at run time takes 5 MB.
  minifySyntax: true,
  minifyWhitespace: true,
  sourcemap: 'linked',
  sourcesContent: false,
  metafile: true,
  write: false,
  logLevel: 'error',
  // Optional native speed-ups that pg and ssh2 look for; Adit installs neither.
  external: ['pg-native', 'cpu-features', '*.node'],
} satisfies BuildOptions

/**
 * Loads modules of Node with `require`: importing one as an ES module reads all of its exports, and some of them load
 * other modules, such as `WebSocket` of node:http, which loads the client of `fetch`.
 */
export const requiredBuiltins: Plugin = {
  name: 'required-builtins',
  setup: bundler => {
    const namespace = 'builtin'
    bundler.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace, sideEffects: false } : undefined,
    )
    bundler.onLoad({ filter: /.*/, namespace }, ({ path }) => ({
      contents: `module.exports = require(${JSON.stringify(path)})`,
    }))
  },
}

/** Bundled CommonJS packages call require() for Node modules, and look for their own folder. */
export const forCommonJs = [
  "import { createRequire as makeRequire } from 'node:module'",
  "import { fileURLToPath as toPath } from 'node:url'",
  'const require = makeRequire(import.meta.url)',
  "const __dirname = toPath(new URL('.', import.meta.url))",
].join(';')

/** Bundles entry points as ES modules with shared chunks. */
export async function bundleModules(
  entryPoints: Record<string, string>,
  options: Pick<BuildOptions, 'target' | 'inject' | 'minifyIdentifiers' | 'sourcemap'>,
): Promise<Bundle> {
  const pages = new Set<string>()
  const { outputFiles, metafile } = await build({
    ...common,
    ...options,
    plugins: [requiredBuiltins, uiFiles, licenceList, dashboard(pages)],
    entryPoints,
    format: 'esm',
    splitting: true,
    outdir: 'dist',
    outExtension: { '.js': '.mjs' },
    chunkNames: 'lib/[name]-[hash]',
    banner: { js: forCommonJs },
  })
  const base = join(root, 'dist')
  const files = outputFiles.map(({ path, contents }) =>
    file(path.slice(base.length + 1), Buffer.from(contents)),
  )
  return { files: files.toSorted(byPath), licences: licencesOf([...Object.keys(metafile.inputs), ...pages]) }
}

/** Bundles one entry point as a CommonJS script, which needs no file next to it. */
export async function bundleScript(
  entryPoint: string,
  options: Pick<BuildOptions, 'banner' | 'footer' | 'sourcemap'> = {},
): Promise<{ readonly script: Buffer; readonly map: Buffer; readonly licences: Entry }> {
  const pages = new Set<string>()
  const { outputFiles, metafile } = await build({
    ...common,
    sourcemap: false,
    ...options,
    plugins: [uiFiles, licenceList, dashboard(pages)],
    entryPoints: [entryPoint],
    format: 'cjs',
    target: 'node26',
    outfile: 'dist/adit.cjs',
    logOverride: { 'empty-import-meta': 'silent' },
  })
  const output = (extension: string): Buffer =>
    Buffer.from(outputFiles.find(({ path }) => path.endsWith(extension))?.contents ?? [])
  return {
    script: output('.cjs'),
    map: output('.map'),
    licences: licencesOf([...Object.keys(metafile.inputs), ...pages]),
  }
}

const byPath = (a: Entry, b: Entry): number => (a.path < b.path ? -1 : 1)

function licencesOf(inputs: readonly string[]): Entry {
  const packages = new Set(
    inputs.flatMap(path => /(?:^|.*\/)node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[0] ?? []),
  )
  const texts = [...packages].toSorted().map(licenceText)
  return file('THIRD_PARTY_LICENSES', texts.join(`\n${'-'.repeat(80)}\n\n`))
}

function licenceText(path: string): string {
  const folder = join(root, path)
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    name: string
    version: string
    license: string
  }
  const own = readdirSync(folder).find(each => /^licen[cs]e/i.test(each))
  const text = own === undefined ? '' : `\n${readFileSync(join(folder, own), 'utf8').trim()}\n`
  return `${name} ${version} (${license})\n${text}`
}
