import { readFile } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import type { Metafile, Plugin } from 'esbuild'

const folder = join(import.meta.dirname, '../../ui')
const out = join(folder, 'built')

interface DashboardBundle {
  /** The files by name; the names of scripts and styles contain a hash of their content. */
  readonly files: ReadonlyMap<string, string>
  /** The paths of the bundled sources, for the list of licences. */
  readonly inputs: readonly string[]
}

/**
 * Makes every part that is loaded later depend on the whole first page, which so becomes one file. esbuild would
 * otherwise split it by the parts that share its modules, and a browser loads only six files of a host at a time.
 */
const firstPageInOneFile: Plugin = {
  name: 'first-page-in-one-file',
  setup(build) {
    build.onResolve({ filter: /^#/ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, namespace: 'later' } : undefined,
    )
    build.onLoad({ filter: /^#/, namespace: 'later' }, ({ path }) => ({
      contents: `import '#ui/dashboard/shell/app.tsx'\nexport * from '${path}'`,
      resolveDir: folder,
    }))
  },
}

/** Bundles the dashboard for browsers. Packages contain the result instead of this file. */
export async function bundleDashboard(): Promise<DashboardBundle> {
  // A development dependency, which only a clone has.
  const { build } = await import('esbuild')
  const { outputFiles, metafile } = await build({
    absWorkingDir: join(folder, '../..'),
    entryPoints: ['main.tsx', 'style.css'].map(name => join(folder, 'dashboard', name)),
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    tsconfig: join(folder, 'tsconfig.json'),
    outdir: out,
    entryNames: '[name]-[hash]',
    chunkNames: 'chunk-[hash]',
    plugins: [firstPageInOneFile],
    metafile: true,
    write: false,
    logLevel: 'error',
  })
  const files = new Map(outputFiles.map(({ path, text }) => [relative(out, path), text]))
  const template = await readFile(join(folder, 'dashboard/index.html'), 'utf8')
  files.set('index.html', pageOf(template, metafile))
  return { files, inputs: Object.keys(metafile.inputs) }
}

/** The page with the names of its files. It names what its scripts import, so that a browser loads all of them at once. */
function pageOf(template: string, { outputs }: Metafile): string {
  const byName = new Map(Object.entries(outputs).map(([path, output]) => [basename(path), output]))
  const entry = (start: string): string => [...byName.keys()].find(name => name.startsWith(start)) ?? ''
  const imported = (name: string): string[] =>
    (byName.get(name)?.imports ?? [])
      .filter(({ kind }) => kind === 'import-statement')
      .flatMap(({ path }) => [basename(path), ...imported(basename(path))])
  const main = entry('main-')
  const preloads = [...new Set(imported(main))].map(
    name => `<link rel="modulepreload" href="/dashboard/assets/${name}" />`,
  )
  return template
    .replace('main.js', main)
    .replace('style.css', entry('style-'))
    .replace('</head>', `${preloads.join('\n    ')}\n  </head>`)
}
