import { dirname, join } from 'node:path'

/** The files that a file of the tests imports by relative paths. */
export const localImports = (file: string, text: string): string[] =>
  [...text.matchAll(/(?:from|import\() ?'(\.[^']+\.ts)'/g)].map(([, path = '']) => join(dirname(file), path))

/** Whether a test file, or one that it imports, starts programs. */
function startsPrograms(file: string, read: (file: string) => string, known: Map<string, boolean>): boolean {
  const found = known.get(file)
  if (found !== undefined) return found
  known.set(file, false)
  const text = read(file)
  const starts =
    text.includes("'node:child_process'") ||
    localImports(file, text).some(path => startsPrograms(path, read, known))
  known.set(file, starts)
  return starts
}

/** The tests that need no other program and no PostgreSQL. */
export function fastFiles(files: readonly string[], read: (file: string) => string): string[] {
  const known = new Map<string, boolean>()
  return files.filter(file => !startsPrograms(file, read, known))
}
