import { dirname, join, relative } from 'node:path'
import { localImports } from './fast-files.ts'

/** How test files name a program beside them that they start in a process of its own. */
const NAMED = /(?<=import\.meta\.dirname, |new URL\()'([\w-]+\.ts)'/g

const programsIn = (file: string, text: string): string[] =>
  [...text.matchAll(NAMED)].map(([, name = '']) => join(dirname(file), name))

/** The programs that test files, or files that they import, start. They are bundled too: from the sources each start takes seconds. */
export function programsOf(files: readonly string[], read: (file: string) => string): string[] {
  const seen = new Set<string>()
  const programs = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    const text = read(file)
    for (const program of programsIn(file, text)) programs.add(program)
    for (const imported of localImports(file, text)) visit(imported)
  }
  files.forEach(visit)
  return [...programs]
}

/** The name of the bundle of a program. */
export const bundleOf = (program: string): string => `programs/${program.replace(/\.ts$/, '')}`

/** Names the bundles of programs, in a folder, instead of their sources. Both are paths below the root. */
export const withBundles = (file: string, text: string, folder: string): string =>
  text.replace(NAMED, (_, name: string) => {
    const bundle = join(folder, `${bundleOf(join(dirname(file), name))}.mjs`)
    return `'${relative(dirname(file), bundle)}'`
  })
