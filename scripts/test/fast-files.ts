import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../package/bundle.ts'

const known = new Map<string, boolean>()

/** Whether a test file, or one that it imports, starts programs. */
function startsPrograms(file: string): boolean {
  const found = known.get(file)
  if (found !== undefined) return found
  known.set(file, false)
  const text = readFileSync(join(root, file), 'utf8')
  const imports = [...text.matchAll(/(?:from|import\() ?'(\.[^']+\.ts)'/g)].map(([, path = '']) =>
    join(dirname(file), path),
  )
  const starts = text.includes("'node:child_process'") || imports.some(startsPrograms)
  known.set(file, starts)
  return starts
}

/** The tests that need no other program and no PostgreSQL. */
export const fastFiles = (files: readonly string[]): string[] => files.filter(file => !startsPrograms(file))
