import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { accessSync, constants, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import { openApi } from '#contract/openapi.ts'
import { operations } from '#contract/operations.ts'
import { exampleId, examplePem } from '#contract/reference-examples.ts'
import { anchorOf } from '#contract/reference-markdown.ts'
import { referencePage } from '#contract/reference-page.ts'
import { reference } from '#contract/reference.ts'
import { generatedFiles } from '../scripts/write-docs.ts'
import { AUTHORITY, issue } from './support/openssl.ts'
import { Folder } from './support/openssh.ts'
import { startServer } from './support/server.ts'

const root = join(import.meta.dirname, '..')
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const documents = globSync(['*.md', 'docs/**/*.md'], { cwd: root })

suite('generated documents', () => {
  const files = generatedFiles()
  for (const [path, text] of files) {
    test(`${path} is what "npm run docs" writes`, () => {
      assert.ok(read(path) === text, `${path} is out of date: run npm run docs`)
    })
  }

  test('there are no others beside them', () => {
    for (const path of globSync('docs/reference/*', { cwd: root })) assert.ok(files.has(path), path)
  })

  test('the checked-in OpenAPI document is the one a server gives', () => {
    assert.deepEqual(JSON.parse(read('docs/openapi.json')), openApi('http://127.0.0.1:4600'))
  })
})

/** The places of a document that a link may name. */
function anchorsOf(path: string): Set<string> {
  const text = read(path).replace(/^```.*?^```/gms, '')
  const headings = [...text.matchAll(/^#{1,6} +(.+)$/gm)].map(match => anchorOf(String(match[1])))
  return new Set([...headings, ...[...text.matchAll(/<a id="([^"]+)">/g)].map(match => String(match[1]))])
}

/** Links in Markdown and pictures in HTML, without those that lead out of the repository. */
function linksIn(path: string): string[] {
  const text = read(path)
    .replace(/^```.*?^```/gms, '')
    .replace(/`[^`\n]+`/g, '')
  const found = [...text.matchAll(/\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"/g)]
  return found.map(match => match[1] ?? match[2] ?? '').filter(link => !/^[a-z]+:/.test(link))
}

suite('links', () => {
  for (const path of documents) {
    test(`of ${path} lead somewhere`, () => {
      for (const link of linksIn(path)) {
        const [file = '', anchor] = link.split('#')
        const target = file === '' ? path : normalize(join(dirname(path), file))
        assert.doesNotThrow(() => accessSync(join(root, target)), `${path} links to ${link}`)
        if (anchor !== undefined) assert.ok(anchorsOf(target).has(anchor), `${path} links to ${link}`)
      }
    })
  }
})

suite('commands in the documents', () => {
  const words = new Set(
    operations.map(({ collection, word }) => `${collection} ${word}`.replaceAll('_', '-')),
  )
  for (const path of documents) {
    test(`of ${path} exist`, () => {
      for (const [, collection, word] of read(path).matchAll(/adit api ([a-z][a-z-]+) ([a-z][a-z-]+)/g)) {
        assert.ok(words.has(`${collection} ${word}`), `${path}: adit api ${collection} ${word}`)
      }
    })
  }
})

suite('the front page', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const commands = [...read('README.md').matchAll(/^npm ci && npm (\S+)$/gm)].map(match => match[1])

  test('names the two commands, and package.json has them', () => {
    assert.deepEqual(commands, ['start', 'test'])
    assert.match(scripts['start'] ?? '', /adit\.ts serve$/)
    assert.match(scripts['test'] ?? '', /node --test/)
  })

  test('gives the same test command as .ci/run', () => {
    const lines = read('.ci/run').split('\n')
    assert.deepEqual(
      lines.filter(line => /^\s*npm /.test(line)),
      ['npm ci && npm test'],
    )
    accessSync(join(root, '.ci/run'), constants.X_OK)
  })
})

test('the decisions tell of every dependency, and of no other', () => {
  const parts = JSON.parse(read('package.json')) as Record<string, Record<string, string> | undefined>
  const sections = ['dependencies', 'optionalDependencies', 'devDependencies']
  const used = sections.flatMap(section => Object.keys(parts[section] ?? {}))
  const rows = [...read('docs/decisions.md').matchAll(/^\| (`[^|]+) \|/gm)].map(match => String(match[1]))
  const told = rows.flatMap(row => [...row.matchAll(/`([^`]+)`/g)].map(match => String(match[1])))
  assert.deepEqual(told.toSorted(), used.toSorted())
})

suite('the reference page', () => {
  const page = referencePage()

  test('loads nothing and runs nothing', () => {
    assert.doesNotMatch(page, /<script|<link|<img|<iframe|@import|url\(|\son\w+=|javascript:/i)
    assert.doesNotMatch(page, /(?:src|href)="(?:https?:)?\/\//)
  })

  test('has every place once, and no link to a place that it lacks', () => {
    const ids = [...page.matchAll(/\sid="([^"]*)"/g)].map(match => String(match[1]))
    assert.equal(new Set(ids).size, ids.length)
    for (const [, place] of page.matchAll(/href="#([^"]*)"/g))
      assert.ok(ids.includes(place ?? ''), `#${place}`)
  })

  test('never skips a level of headings', () => {
    const levels = [...page.matchAll(/<h([1-6])/g)].map(match => Number(match[1]))
    const inMain = levels.slice(levels.indexOf(1))
    assert.equal(inMain.filter(level => level === 1).length, 1)
    inMain.forEach((level, index) => assert.ok(level <= (inMain[index - 1] ?? 0) + 1))
  })

  test('tells of every collection, operation path and error', () => {
    for (const { id } of reference.groups.flatMap(({ collections }) => collections)) {
      assert.ok(page.includes(`<article id="${id}"`), id)
    }
    for (const { id } of reference.errors) assert.ok(page.includes(`id="error-${id}"`), id)
  })
})

const run = promisify(execFile)
const MADE_UP = exampleId('')

suite('the examples of the reference', () => {
  test('work when they are pasted into a shell', async () => {
    await using server = await startServer()
    await using folder = await Folder.make()
    const { certificate, key } = await issue(folder, { name: 'example', extensions: AUTHORITY })
    const inJson = (text: string) => JSON.stringify(text).slice(1, -1)
    await server.api.post('/reserved_domains', { domain: '*.example.com' })
    const entries = reference.groups.flatMap(({ collections }) => collections)
    const real = new Map<string, string>()
    for (let waiting = entries; waiting.length > 0;) {
      const postponed: typeof waiting = []
      for (const entry of waiting) {
        let command = entry.example
          .replace(inJson(examplePem.certificate), () => inJson(certificate))
          .replace(inJson(examplePem.key), () => inJson(key))
        for (const [madeUp, id] of real) command = command.replace(new RegExp(`\\b${madeUp}`, 'g'), id)
        if (command.includes(MADE_UP)) {
          postponed.push(entry)
          continue
        }
        const env = { PATH: process.env['PATH'], API: server.api.url, KEY: server.api.token }
        const { stdout } = await run('bash', ['-c', `${command} --silent --fail-with-body`], { env }).catch(
          (error: { stdout: string }) => assert.fail(`${entry.id}: ${error.stdout}`),
        )
        const { id } = JSON.parse(stdout) as { id?: string }
        if (id !== undefined && entry.prefix !== undefined) real.set(exampleId(entry.prefix), id)
      }
      assert.ok(postponed.length < waiting.length, `nothing makes what ${postponed[0]?.id} needs`)
      waiting = postponed
    }
  })
})
