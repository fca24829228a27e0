import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { suite, test } from 'node:test'

const root = join(import.meta.dirname, '..')

/** Which folder of src/ may import from which others. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  base: [],
  contract: ['base'],
  store: ['base'],
  tunnel: ['base'],
  pki: ['base'],
  gateway: ['tunnel', 'pki', 'contract', 'base'],
  api: ['store', 'pki', 'contract', 'base'],
  events: ['store', 'contract', 'base'],
  acme: ['store', 'pki', 'base'],
  dns: ['base'],
  client: ['contract', 'base'],
  agent: ['tunnel', 'base'],
  ui: [],
  cli: ['client', 'agent', 'contract', 'base'],
  server: ['api', 'gateway', 'events', 'acme', 'dns', 'store', 'tunnel', 'pki', 'contract', 'base'],
  bin: ['server', 'agent', 'cli', 'base'],
}

const files = globSync('src/**/*.ts', { cwd: root })
const importsOf = (file: string): string[] =>
  [
    ...readFileSync(join(root, file), 'utf8').matchAll(
      /(?:^(?:import|export)\b[^'"]*|\bimport\()['"]([^'"]+)['"]/gm,
    ),
  ].map(match => String(match[1]))
const folderOf = (file: string): string => relative('src', file).split('/')[0] ?? ''

suite('imports', () => {
  for (const file of files) {
    test(`of ${file} point only where its folder may`, () => {
      const folder = folderOf(file)
      const targets = allowed[folder]
      assert.ok(targets, `src/${folder} is not a folder of the architecture`)
      for (const specifier of importsOf(file)) {
        assert.ok(!specifier.startsWith('./'), `${specifier}: write #folder/file.ts`)
        if (!specifier.startsWith('#')) continue
        const target = specifier.slice(1).split('/')[0] ?? ''
        assert.ok(target === folder || targets.includes(target), `${folder} may not import from ${target}`)
      }
    })
  }

  test('of the contract stay usable in a browser', () => {
    const seen = new Set<string>()
    const visit = (file: string): void => {
      if (seen.has(file)) return
      seen.add(file)
      for (const specifier of importsOf(file)) {
        assert.ok(!specifier.startsWith('node:'), `${file} imports ${specifier}`)
        if (specifier.startsWith('#')) visit(`src/${specifier.slice(1)}`)
      }
    }
    for (const start of files.filter(file => folderOf(file) === 'contract')) visit(start)
    assert.ok(seen.size > 20)
  })
})
