import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite, test } from 'node:test'

const root = join(import.meta.dirname, '..')
const EXPORTED = /^export (?:abstract )?(?:async )?(?:const|let|function\*?|class|interface|type) (\w+)/gm
const NAMED = /^(?:import|export) (?:type )?\{([^}]*)\} from '([^']+)'/gm
const NAMESPACE = /(?:^import (?:type )?\* as \w+ from |import\()'([^']+)'/gm
const ALL = /^export (?:type )?\* from '([^']+)'/gm

const files = new Map(
  globSync('{src,test,bench,scripts}/**/*.{ts,tsx,mjs}', { cwd: root }).map(file => [
    file,
    readFileSync(join(root, file), 'utf8'),
  ]),
)

const namesIn = (text: string): string[] => [...text.matchAll(EXPORTED)].map(([, name = '']) => name)

/** For each file: the names that others import from it, or every word of those that import it as a whole. */
function importedNames(): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>()
  for (const [importer, text] of files) {
    const pathOf = (specifier: string): string =>
      specifier.startsWith('#') ? join('src', specifier.slice(1)) : join(dirname(importer), specifier)
    const add = (path: string, words: readonly string[]): void => {
      names.set(path, names.get(path)?.union(new Set(words)) ?? new Set(words))
    }
    for (const [, list = '', specifier = ''] of text.matchAll(NAMED))
      add(pathOf(specifier), list.match(/\w+/g) ?? [])
    for (const [, specifier = ''] of text.matchAll(NAMESPACE))
      add(pathOf(specifier), text.match(/\w+/g) ?? [])
    for (const [, specifier = ''] of text.matchAll(ALL))
      add(pathOf(specifier), namesIn(files.get(pathOf(specifier)) ?? ''))
  }
  return names
}

suite('every export', () => {
  test('is imported by another file', () => {
    const imported = importedNames()
    const unused: string[] = []
    for (const [file, text] of files)
      if (/^(src|test|bench)\//.test(file) && !file.endsWith('.d.ts'))
        for (const name of namesIn(text)) if (!imported.get(file)?.has(name)) unused.push(`${file}: ${name}`)
    assert.deepEqual(unused, [], 'remove "export", or the code')
  })
})
