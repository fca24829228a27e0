import { readFile } from 'node:fs/promises'
import { join, relative } from 'node:path'

const folder = join(import.meta.dirname, '../../ui')
const out = join(folder, 'built')

export interface DashboardBundle {
  /** The files by name; the names of scripts and styles contain a hash of their content. */
  readonly files: ReadonlyMap<string, string>
  /** The paths of the bundled sources, for the list of licences. */
  readonly inputs: readonly string[]
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
    metafile: true,
    write: false,
    logLevel: 'error',
  })
  const files = new Map(outputFiles.map(({ path, text }) => [relative(out, path), text]))
  const template = await readFile(join(folder, 'dashboard/index.html'), 'utf8')
  const named = (start: string): string => [...files.keys()].find(name => name.startsWith(start)) ?? ''
  files.set('index.html', template.replace('main.js', named('main-')).replace('style.css', named('style-')))
  return { files, inputs: Object.keys(metafile.inputs) }
}
