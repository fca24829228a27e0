import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { after, before, suite, test } from 'node:test'
import { bundleDashboard } from '#api/dashboard/bundle.ts'
import { startServer, type TestServer } from '../support/server.ts'

const MAX_COMPRESSED = 150_000

let server: TestServer
before(async () => void (server = await startServer()))
after(() => server[Symbol.asyncDispose]())

const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(server.api.url + path, { headers: { accept: 'text/html', ...headers }, redirect: 'manual' })

suite('the files of the dashboard', () => {
  test('are sent to browsers at the root and below /dashboard; API clients get JSON', async () => {
    for (const path of ['/', '/dashboard', '/dashboard/ip_policies/x', '/dashboard/login']) {
      const response = await get(path)
      assert.equal(response.status, 200, path)
      assert.match(await response.text(), /<script type="module" src="\/dashboard\/assets\/main-\w+\.js">/)
    }
    const { status, body } = await server.api.get('/')
    assert.equal(status, 200)
    assert.ok('subresource_uris' in body)
  })

  test('allow no script but their own, no frame, and no request elsewhere', async () => {
    const page = await get('/')
    const script = /\/dashboard\/assets\/main-\w+\.js/.exec(await page.text())?.[0] ?? ''
    for (const { headers } of [page, await get(script)]) {
      const policy = headers.get('content-security-policy') ?? ''
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/)
      assert.match(
        policy,
        /frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'$/,
      )
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('referrer-policy'), 'no-referrer')
    }
  })

  test('are cached without limit by their hash, and the page is not', async () => {
    const page = await get('/')
    assert.equal(page.headers.get('cache-control'), 'no-cache')
    const [script = '', style = ''] =
      (await page.text()).match(/\/dashboard\/assets\/[\w-]+\.(js|css)/g)?.toSorted() ?? []
    for (const [path, encoding] of [
      [script, 'gzip'],
      [style, 'gzip'],
      [script, 'br'],
    ] as const) {
      const { status, headers } = await get(path, { 'accept-encoding': encoding })
      assert.deepEqual(
        [status, headers.get('cache-control'), headers.get('content-encoding')],
        [200, 'public, max-age=31536000, immutable', encoding],
      )
    }
    const missing = await get('/dashboard/assets/main-XXXXXXXX.js')
    assert.deepEqual([missing.status, missing.headers.get('content-type')], [404, 'application/json'])
  })

  test('are few for the first page, which names all of them', async () => {
    const { files } = await bundleDashboard()
    const named = [...(files.get('index.html') ?? '').matchAll(/\/assets\/([\w.-]+)/g)].map(
      ([, name = '']) => name,
    )
    assert.ok(named.length <= 3, named.join(' '))
    for (const name of named)
      for (const [, imported = ''] of (files.get(name) ?? '').matchAll(/from"\.\/([\w.-]+)"/g))
        assert.ok(named.includes(imported), `${name} imports ${imported}`)
  })

  test('preload the session in a browser that has one', async () => {
    const preload = (cookie: string) =>
      get('/dashboard', { cookie }).then(({ headers }) => headers.get('link'))
    assert.equal(await preload('other=1'), null)
    assert.equal(
      await preload('other=1; adit_session=x'),
      '</dashboard/session>; rel=preload; as=fetch; crossorigin',
    )
  })

  test('take at most 150 kB compressed', async () => {
    const { files } = await bundleDashboard()
    const size = [...files.values()].reduce((sum, text) => sum + gzipSync(text, { level: 9 }).length, 0)
    assert.ok(size < MAX_COMPRESSED, `${size} bytes`)
  })
})
