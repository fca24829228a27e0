import { readFileSync, rmSync } from 'node:fs'
import { dirname, extname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Metafile, type Plugin } from 'esbuild'
import { forCommonJs, requiredBuiltins, root } from '../package/bundle.ts'
import { metadata } from '../package/npm.ts'
import { checkoutBundle } from '../../src/bin/checkout-bundle.cjs'
import { readSource, type Group } from './groups.ts'
import { bundleOf, programsOf, withBundles } from './programs.ts'

const bundled = new Set(Object.keys(metadata.dependencies))
const packageOf = (path: string): string =>
  path
    .split('/')
    .slice(0, path.startsWith('@') ? 2 : 1)
    .join('/')

/** Packages that only tests use stay where they are: some contain programs and data. */
const externalPackages: Plugin = {
  name: 'external-packages',
  setup: bundler => {
    bundler.onResolve({ filter: /^[^.#/]/ }, ({ path, importer, kind }) =>
      kind === 'entry-point' || importer.includes('/node_modules/') || bundled.has(packageOf(path))
        ? undefined
        : { external: true },
    )
  },
}

/** The place of each source file, for those that look for files next to them. */
const places = {
  'import.meta.dirname': '__sourceFolder',
  'import.meta.filename': '__sourceFile',
  'import.meta.url': '__sourceUrl',
}
/**
 * Workers start in half of the time from the bundled program, which has them beside it. It is built here, because tests
 * that start it at the same time would all build it.
 */
function movedPlaces(): Map<string, string> {
  const bundle = checkoutBundle()
  if (bundle === undefined) throw new Error('the program could not be bundled')
  return new Map([[join(root, 'src/cluster/program.ts'), join(dirname(bundle), 'main.mjs')]])
}
const sources = (testFiles: ReadonlySet<string>, folder: string): Plugin => ({
  name: 'sources',
  setup: bundler => {
    const moved = movedPlaces()
    bundler.onLoad({ filter: /\.m?[jt]s$/ }, ({ path }) => {
      const name = relative(root, path)
      const source = readFileSync(path, 'utf8')
      const text = name.startsWith('test/') ? withBundles(name, source, relative(root, folder)) : source
      const contents = testFiles.has(name) ? asSuite(text, name) : text
      const loader = extname(path) === '.ts' ? 'ts' : 'js'
      if (!text.includes('import.meta.')) return { loader, contents }
      const place = moved.get(path) ?? path
      const values = [dirname(place), place, pathToFileURL(place).href]
      const names = Object.values(places).map((each, at) => `const ${each}=${JSON.stringify(values[at])};`)
      // On the first line: the numbers of the others stay.
      return { loader, contents: names.join('') + contents }
    })
  },
})

/** The import declarations at the beginning of a file, with the comments between them. */
const IMPORTS = /^(?:\s+|\/\/.*\n|\/\*[^]*?\*\/|import\b[^'"]*(?:'[^']*'|"[^"]*")(?: with \{[^}]*\})?;?)*/

/** Makes one suite of the tests of a file. Lines keep their numbers. */
function asSuite(text: string, name: string): string {
  const [imports = ''] = IMPORTS.exec(text) ?? []
  const body = text.slice(imports.length)
  const declares = `import { fileSuite as __file } from ${JSON.stringify(join(root, 'scripts/test/file-suite.ts'))};`
  return `${declares}${imports}__file(${JSON.stringify(name)}, async () => {${body}\n})\n`
}

/** The entry point of each group. */
const groupEntries = (groups: readonly Group[]): Plugin => ({
  name: 'groups',
  setup: bundler => {
    const namespace = 'group'
    bundler.onResolve({ filter: /^group:/ }, ({ path }) => ({ path: path.slice('group:'.length), namespace }))
    bundler.onLoad({ filter: /.*/, namespace }, ({ path }) => {
      const files = groups.find(({ name }) => name === path)?.files ?? []
      const imported = ['scripts/test/report-usage.ts', ...files]
      const contents = imported.map(file => `import ${JSON.stringify(`./${file}`)}`).join('\n')
      return { contents, resolveDir: root }
    })
  },
})

/** Throws when a file adds nothing to the bundles, such as one that was taken for free of side effects. */
function assertAllContribute(files: readonly string[], { outputs }: Metafile): void {
  const bundledFiles = new Set(
    Object.values(outputs).flatMap(({ inputs }) =>
      Object.entries(inputs).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : [])),
    ),
  )
  const missing = files.filter(file => !bundledFiles.has(file))
  if (missing.length > 0) throw new Error(`the bundles have nothing of ${missing.join(', ')}`)
}

/** Bundles groups of test files into a folder. Returns the bundles, in the same order. */
export async function buildFiles(groups: readonly Group[], folder: string): Promise<string[]> {
  const files = groups.flatMap(group => group.files)
  const programs = programsOf(files, readSource)
  rmSync(folder, { recursive: true, force: true })
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [
      ...groups.map(({ name }) => ({ in: `group:${name}`, out: name })),
      ...programs.map(program => ({ in: program, out: bundleOf(program) })),
    ],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    chunkNames: 'chunks/[hash]',
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node26',
    keepNames: true,
    sourcemap: 'linked',
    sourcesContent: false,
    metafile: true,
    logLevel: 'error',
    define: places,
    external: ['pg-native', 'cpu-features', '*.node'],
    plugins: [groupEntries(groups), requiredBuiltins, externalPackages, sources(new Set(files), folder)],
    banner: { js: forCommonJs },
  })
  assertAllContribute(files, metafile)
  return groups.map(({ name }) => join(folder, `${name}.mjs`))
}
