import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { suite, test } from 'node:test'

const root = join(import.meta.dirname, '..')

const words = (text: string): readonly string[] => text.split(' ')

/**
 * Which folder of src/ may import from which others. Each may import only from folders above it, so that no two import
 * from each other.
 */
const allowed: Readonly<Record<string, readonly string[]>> = {
  base: [],
  contract: words('base'),
  reference: words('contract base'),
  store: words('base'),
  tunnel: words('base'),
  http2: words('tunnel base'),
  pki: words('base'),
  dns: words('base'),
  registry: words('tunnel pki contract base'),
  http: words('registry http2 tunnel base'),
  telemetry: words('http registry contract base'),
  tls: words('telemetry http registry tunnel pki contract base'),
  auth: words('http registry pki contract base'),
  webhooks: words('http pki base'),
  ssh: words('registry tunnel pki base'),
  gateway: words('ssh webhooks auth tls telemetry http http2 registry tunnel pki contract base'),
  cluster: words('gateway auth telemetry registry tunnel pki contract base'),
  api: words('http webhooks reference store pki contract base'),
  events: words('store contract base'),
  acme: words('store pki base'),
  domains: words('acme api registry dns store pki contract base'),
  backup: words('store base'),
  server: words('backup domains events api cluster gateway auth telemetry registry pki store contract base'),
  client: words('contract base'),
  agent: words('tunnel base'),
  ui: words('client contract base'),
  cli: words('agent client reference tunnel contract base'),
  bin: words('cli agent server backup domains cluster base'),
}

/** The same for the folders within src/gateway. Its own files put these together, and none of these imports them. */
const allowedInGateway: Readonly<Record<string, readonly string[]>> = {
  acme: [],
  modules: [],
  backends: [],
  'cluster-links': [],
  agents: words('modules'),
  listeners: words('agents backends acme'),
  routing: words('listeners backends modules acme'),
}

/** The part of all lines of src/ that one folder may hold. */
const MAX_SHARE = 0.15

const files = globSync('src/**/*.{ts,tsx}', { cwd: root })
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')
const importsOf = (file: string): string[] =>
  [
    ...textOf(file).matchAll(/(?:^(?:import|export)\b[^'"]*\bfrom |^import |\bimport\()['"]([^'"]+)['"]/gm),
  ].map(match => String(match[1]))
/** The files of src/ that a file imports. */
const ownImportsOf = (file: string): string[] =>
  importsOf(file).flatMap(specifier => (specifier.startsWith('#') ? [`src/${specifier.slice(1)}`] : []))
const folderOf = (file: string): string => relative('src', file).split('/')[0] ?? ''
/** The folder within src/gateway; undefined for files directly in it. */
const partOf = (file: string): string | undefined => /^src\/gateway\/([^/]+)\//.exec(file)?.[1]

function checkFolders(file: string): void {
  const folder = folderOf(file)
  const targets = allowed[folder]
  assert.ok(targets, `src/${folder} is not a folder of the architecture`)
  for (const target of ownImportsOf(file).map(folderOf))
    assert.ok(target === folder || targets.includes(target), `${folder} may not import from ${target}`)
}

function checkParts(file: string): void {
  const part = partOf(file)
  if (part === undefined) return
  const targets = allowedInGateway[part]
  assert.ok(targets, `src/gateway/${part} is not a folder of the architecture`)
  for (const imported of ownImportsOf(file).filter(each => folderOf(each) === 'gateway')) {
    const target = partOf(imported)
    const isAllowed: boolean = target !== undefined && (target === part || targets.includes(target))
    assert.ok(isAllowed, `gateway/${part} may not import ${imported}`)
  }
}

suite('imports', () => {
  for (const file of files) {
    test(`of ${file} point only where its folder may`, () => {
      for (const specifier of importsOf(file))
        assert.ok(!specifier.startsWith('./'), `${specifier}: write #folder/file.ts`)
      checkFolders(file)
      checkParts(file)
    })
  }

  for (const [name, table] of Object.entries({ src: allowed, 'src/gateway': allowedInGateway }))
    test(`between the folders of ${name} point one way`, () => {
      const order = Object.keys(table)
      for (const [at, folder] of order.entries())
        for (const target of table[folder] ?? []) {
          assert.ok(order.indexOf(target) >= 0, `${folder} may import from ${target}, which is not declared`)
          assert.ok(order.indexOf(target) < at, `${folder} must be declared below ${target}`)
        }
    })

  test('form no circle between files, types included', () => {
    const state = new Map<string, 'open' | 'done'>()
    const visit = (file: string, path: readonly string[]): void => {
      if (state.get(file) === 'done') return
      const circle = [...path.slice(path.indexOf(file)), file].join(' -> ')
      assert.notEqual(state.get(file), 'open', `circular import: ${circle}`)
      state.set(file, 'open')
      for (const target of ownImportsOf(file)) visit(target, [...path, file])
      state.set(file, 'done')
    }
    for (const file of files) visit(file, [])
  })

  test('of the contract and the reference stay usable in a browser', () => {
    const seen = new Set<string>()
    const visit = (file: string): void => {
      if (seen.has(file)) return
      seen.add(file)
      for (const specifier of importsOf(file))
        assert.ok(!specifier.startsWith('node:'), `${file} imports ${specifier}`)
      for (const imported of ownImportsOf(file)) visit(imported)
    }
    for (const start of files.filter(file => ['contract', 'reference'].includes(folderOf(file)))) visit(start)
    assert.ok(seen.size > 20)
  })
})

suite('folders of src', () => {
  const linesIn = new Map<string, number>()
  for (const file of files) {
    const folder = folderOf(file)
    linesIn.set(folder, (linesIn.get(folder) ?? 0) + textOf(file).split('\n').length - 1)
  }

  test('are those of the architecture', () => {
    assert.deepEqual([...linesIn.keys()].toSorted(), Object.keys(allowed).toSorted())
    const parts = new Set(files.flatMap(file => partOf(file) ?? []))
    assert.deepEqual([...parts].toSorted(), Object.keys(allowedInGateway).toSorted())
  })

  test('are listed in CONTRIBUTING.md with what they may import', () => {
    const rows = textOf('CONTRIBUTING.md').matchAll(/^\| `src\/(\w+)` .*\| ([^|]+?) +\|$/gm)
    const listed = [...rows].map(([, folder, targets = '']) => [folder, targets])
    assert.deepEqual(
      listed,
      Object.entries(allowed).map(([folder, targets]) => [folder, targets.join(', ') || 'nothing']),
    )
  })

  test('hold no more than 15 % of the lines each', () => {
    const all = [...linesIn.values()].reduce((sum, lines) => sum + lines, 0)
    for (const [folder, lines] of linesIn)
      assert.ok(lines <= all * MAX_SHARE, `src/${folder} holds ${lines} of ${all} lines: split it`)
  })
})
