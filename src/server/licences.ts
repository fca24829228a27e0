import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Licences } from '#contract/licences.ts'

const root = join(import.meta.dirname, '../..')
/** Development dependencies that the dashboard contains. */
const OF_DASHBOARD = ['preact', '@preact/signals', 'uplot']

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
}

const manifestIn = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest

/** The packages that the program contains, with their licences. Packages contain the result instead of this file. */
export function licences(): Licences {
  const found = new Map<string, Licences['licences'][number]>()
  const add = (name: string, above: string): void => {
    const own = join(above, 'node_modules', name)
    const folder = existsSync(own) ? own : join(root, 'node_modules', name)
    if (found.has(folder)) return
    const manifest = manifestIn(folder)
    found.set(folder, {
      name,
      version: manifest.version,
      licence: manifest.license ?? '',
      text: textIn(folder),
    })
    for (const other of Object.keys(manifest.dependencies ?? {})) add(other, folder)
  }
  for (const name of [...Object.keys(manifestIn(root).dependencies ?? {}), ...OF_DASHBOARD]) add(name, root)
  return { licences: [...found.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1)) }
}

function textIn(folder: string): string {
  const name = readdirSync(folder).find(each => /^licen[cs]e/i.test(each))
  return name === undefined ? '' : readFileSync(join(folder, name), 'utf8').trim()
}
