import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { accessSync, constants, globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { suite, test } from 'node:test'
import { promisify } from 'node:util'
import { openApi } from '#contract/openapi.ts'
import { operations } from '#contract/operations.ts'
import { exampleId, examplePem } from '#reference/examples.ts'
import { anchorOf } from '#reference/markdown.ts'
import { EXAMPLE_URL } from '#reference/intro.ts'
import { pageIds, referencePage } from '#reference/page.ts'
import { reference } from '#reference/model.ts'
import { generatedFiles } from '../scripts/write-docs.ts'
import { AUTHORITY, issue } from './support/openssl.ts'
import { startServer } from './support/server.ts'
import { Folder } from './support/folder.ts'

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
    assert.deepEqual(JSON.parse(read('docs/openapi.json')), openApi(EXAMPLE_URL))
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
    test(`of ${path} resolve`, () => {
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
    assert.match(scripts['start'] ?? '', /exec bin\/adit serve$/)
    assert.match(scripts['test'] ?? '', /node scripts\/test\/run.ts$/)
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
  const reported = rows.flatMap(row => [...row.matchAll(/`([^`]+)`/g)].map(match => String(match[1])))
  assert.deepEqual(reported.toSorted(), used.toSorted())
})

const pages = new Map(
  [...pageIds, 'search'].map(id => [id, referencePage(id, { query: 'policy' }) ?? assert.fail(id)]),
)
const idsOf = (page: string): string[] => [...page.matchAll(/\sid="([^"]*)"/g)].map(match => String(match[1]))

suite('the pages of the reference', () => {
  for (const [id, page] of pages) {
    test(`/docs/${id} loads nothing, runs nothing, and has no broken link`, () => {
      assert.doesNotMatch(page, /<script|<link|<img|<iframe|@import|url\(|\son\w+=|javascript:/i)
      assert.doesNotMatch(page, /(?:src|href|action)="(?:https?:)?\/\//)
      const ids = idsOf(page)
      assert.equal(new Set(ids).size, ids.length, 'every place once')
      for (const [, link = ''] of page.matchAll(/href="([^"]*)"/g)) {
        const [path = '', place] = link.split('#')
        if (path === '/openapi.json') continue
        const target = path === '' ? page : pages.get(path.replace(/^\/docs\/?/, ''))
        assert.ok(target, link)
        if (place !== undefined) assert.ok(idsOf(target).includes(place), link)
      }
    })

    test(`/docs/${id} never skips a level of headings`, () => {
      const main = page.slice(page.indexOf('<main'))
      const levels = [...main.matchAll(/<h([1-6])/g)].map(match => Number(match[1]))
      assert.equal(levels.filter(level => level === 1).length, 1)
      levels.forEach((level, index) => assert.ok(level <= (levels[index - 1] ?? 0) + 1))
    })
  }

  test('tell of every collection and error', () => {
    for (const { id } of reference.groups.flatMap(({ collections }) => collections))
      assert.ok(pages.get(id)?.includes(`<article id="${id}"`), id)
    for (const { id } of reference.errors) assert.ok(pages.get('errors')?.includes(`id="error-${id}"`), id)
  })

  test('are found by the words in them, which are never markup', () => {
    const found = (query: string): string => referencePage('search', { query }) ?? ''
    assert.match(found('sshcr_'), /href="\/docs\/ssh_credentials"/)
    assert.match(found('IP  restrictions create'), /href="\/docs\/ip_restrictions"/)
    assert.match(found('90001'), /href="\/docs\/errors#error-/)
    assert.match(found('circuit breaker'), /href="\/docs\/modules#module-circuit_breaker"/)
    assert.match(found('zzzz'), />0 found/)
    assert.doesNotMatch(found('"><b onclick=x>'), /<b onclick/)
  })

  test('are served with the requested address, and a browser gets the dashboard', async () => {
    await using server = await startServer()
    const get = (path: string, accept = '*/*') =>
      fetch(server.api.url + path, { headers: { accept }, redirect: 'manual' })
    const first = await (await get('/docs')).text()
    assert.ok(first.includes(`API=${server.api.url}\n`))
    const page = await get('/docs/ip_policies')
    assert.equal(page.status, 200)
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'.*form-action 'self'/)
    assert.match(await (await get('/docs/search?q=ip+policies')).text(), /href="\/docs\/ip_policies"/)
    assert.equal((await get('/docs/nothing')).status, 404)
    const browser = await get('/', 'text/html,application/xhtml+xml,*/*;q=0.8')
    assert.deepEqual([browser.status, browser.headers.get('content-type')], [200, 'text/html; charset=utf-8'])
    assert.equal((await get('/')).status, 401)
  })
})

const run = promisify(execFile)
const MADE_UP = exampleId('')

suite('the examples of the reference', () => {
  test('work when they are pasted into a shell', async () => {
    await using server = await startServer()
    using folder = new Folder()
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
