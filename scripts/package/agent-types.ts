import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { file, type Entry } from './archive.ts'
import { root } from './bundle.ts'

const ENTRY = 'agent/index.d.ts'

/** The declarations of the agent library: those that its entry point reaches, and no others. */
export function agentTypes(): Entry[] {
  const out = mkdtempSync(join(tmpdir(), 'adit-types-'))
  try {
    const config = join(root, 'scripts/package/tsconfig.types.json')
    execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', config, '--outDir', out], { stdio: 'inherit' })
    const reached = new Map<string, string>()
    reach(out, ENTRY, reached)
    return [...reached]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([path, text]) => file(`types/${path}`, text))
  } finally {
    rmSync(out, { recursive: true })
  }
}

/** Imports of other folders are written `#folder/file.ts`, which the package maps to its declarations. */
function reach(out: string, path: string, reached: Map<string, string>): void {
  if (reached.has(path)) return
  const text = readFileSync(join(out, path), 'utf8')
  reached.set(path, text)
  for (const [, specifier = ''] of text.matchAll(/(?:from|import\() ?['"]([^'"]+)['"]/g)) {
    if (specifier.startsWith('#')) reach(out, specifier.slice(1).replace(/\.ts$/, '.d.ts'), reached)
    else if (!specifier.startsWith('node:')) throw new Error(`${path} needs the types of ${specifier}`)
  }
}
