import { readFileSync, rmSync } from 'node:fs'
import { dirname, extname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build, type Plugin } from 'esbuild'
import { forCommonJs, requiredBuiltins, root } from '../package/bundle.ts'
import { metadata } from '../package/npm.ts'

/** `node --test` ignores files under node_modules. */
const folder = join(root, 'dist/tests')
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
const sourcePlaces: Plugin = {
  name: 'source-places',
  setup: bundler => {
    bundler.onLoad({ filter: /\.m?[jt]s$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      if (!text.includes('import.meta.')) return undefined
      const values = [dirname(path), path, pathToFileURL(path).href]
      const names = Object.values(places).map((name, at) => `const ${name}=${JSON.stringify(values[at])};`)
      // On the first line: the numbers of the others stay.
      return { loader: extname(path) === '.ts' ? 'ts' : 'js', contents: names.join('') + text }
    })
  },
}

/**
 * Bundles test files: each runs in a process of its own, and loading a thousand modules takes longer than most of their
 * tests. Returns the bundles, in the same order.
 */
export async function buildFiles(files: readonly string[]): Promise<string[]> {
  rmSync(folder, { recursive: true, force: true })
  await build({
    absWorkingDir: root,
    entryPoints: [...files],
    outdir: folder,
    outbase: 'test',
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
    logLevel: 'error',
    define: places,
    external: ['pg-native', 'cpu-features', '*.node'],
    plugins: [requiredBuiltins, externalPackages, sourcePlaces],
    banner: { js: forCommonJs },
  })
  return files.map(file => join('dist/tests', relative('test', file)).replace(/\.ts$/, '.mjs'))
}
