import { readdirSync, readFileSync } from 'node:fs'
import * as module from 'node:module'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../../../ui')

/** Turns a module of `src/ui` into one that browsers load. */
const scriptOf = (source: string): string =>
  module.stripTypeScriptTypes(source).replaceAll(/(from |import )'#ui\/([^']+)\.ts'/g, "$1'/ui/$2.js'")

let loaded: ReadonlyMap<string, string> | undefined

/** The user interface files by their path. Packages embed them instead of reading them. */
export function uiFiles(): ReadonlyMap<string, string> {
  loaded ??= readUiFiles()
  return loaded
}

export function readUiFiles(): ReadonlyMap<string, string> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(name =>
    name.replaceAll('\\', '/'),
  )
  const files = names.flatMap((name): [string, string][] => {
    // The server bundles the dashboard.
    if (!/\.(ts|css|html)$/.test(name) || name.startsWith('dashboard/')) return []
    const text = readFileSync(join(folder, name), 'utf8')
    return [name.endsWith('.ts') ? [`/ui/${name.slice(0, -3)}.js`, scriptOf(text)] : [`/ui/${name}`, text]]
  })
  return new Map(files)
}
