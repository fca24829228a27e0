import assert from 'node:assert/strict'
import { once } from 'node:events'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, suite, test } from 'node:test'
import { FileServer } from '#agent/files/file-server.ts'
import { readEndpoint } from '#agent/endpoint.ts'

const outside = realpathSync(mkdtempSync(join(tmpdir(), 'adit-test-')))
const root = join(outside, 'public')
const seen: string[] = []
const files = new FileServer(root)
// Any stream will do; here they are sockets, so that a usual client can ask.
const listener = createServer(socket =>
  files.serve(socket, ({ method, path, status }) => seen.push(`${method} ${path} ${status}`)),
)

before(async () => {
  mkdirSync(join(root, 'docs', 'empty'), { recursive: true })
  mkdirSync(join(root, '.git'))
  mkdirSync(join(root, '.well-known'))
  mkdirSync(join(outside, 'public-too'))
  writeFileSync(join(outside, 'secret.txt'), 'secret')
  writeFileSync(join(outside, 'public-too', 'secret.txt'), 'secret')
  writeFileSync(join(root, 'a b+ü.txt'), '0123456789')
  writeFileSync(join(root, 'empty.css'), '')
  writeFileSync(join(root, '.env'), 'secret')
  writeFileSync(join(root, '.git', 'config'), 'secret')
  writeFileSync(join(root, '.well-known', 'x'), 'known')
  writeFileSync(join(root, 'docs', 'index.html'), '<h1>docs</h1>')
  utimesSync(join(root, 'docs', 'index.html'), 1_900_000_000, 1_900_000_000)
  symlinkSync('../secret.txt', join(root, 'out.txt'))
  symlinkSync('..', join(root, 'up'))
  symlinkSync('../public-too', join(root, 'beside'))
  symlinkSync('.git', join(root, 'git'))
  symlinkSync('docs/index.html', join(root, 'in.html'))
  execFileSync('mkfifo', [join(root, 'pipe')])
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
})
after(() => {
  listener.close()
  rmSync(outside, { recursive: true })
})

interface Answer {
  readonly status: number | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

/** Sends the path as it is written: a URL would have its dots resolved before. */
async function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  const { port } = listener.address() as AddressInfo
  const sent = request({ host: '127.0.0.1', port, path, method, headers, agent: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return { status: response.statusCode, headers: response.headers, body: await text(response) }
}

suite('the files of a folder', () => {
  test('are sent with their type and size', async () => {
    const { status, headers, body } = await ask('/a%20b+%C3%BC.txt?v=1')
    assert.deepEqual([status, body], [200, '0123456789'])
    assert.equal(headers['content-type'], 'text/plain; charset=utf-8')
    assert.equal(headers['content-length'], '10')
    assert.equal(headers['accept-ranges'], 'bytes')
    assert.equal(headers['x-content-type-options'], 'nosniff')
    const empty = await ask('/empty.css')
    assert.deepEqual([empty.status, empty.body, empty.headers['content-length']], [200, '', '0'])
    assert.equal((await ask('/.well-known/x')).headers['content-type'], 'application/octet-stream')
    assert.ok(seen.includes('GET /a%20b+%C3%BC.txt?v=1 200'))
  })

  test('are only announced for HEAD, and read-only', async () => {
    const head = await ask('/a%20b+%C3%BC.txt', {}, 'HEAD')
    assert.deepEqual([head.status, head.body, head.headers['content-length']], [200, '', '10'])
    const posted = await ask('/a%20b+%C3%BC.txt', {}, 'POST')
    assert.deepEqual([posted.status, posted.headers.allow], [405, 'GET, HEAD'])
  })

  test('have an index, and no list', async () => {
    assert.equal((await ask('/docs/')).body, '<h1>docs</h1>')
    const { status, headers } = await ask('/docs')
    assert.deepEqual([status, headers.location], [301, 'docs/'])
    assert.equal((await ask('/in.html')).headers['content-type'], 'text/html; charset=utf-8')
    for (const path of ['/', '/docs/empty/', '/docs/index.html/'])
      assert.equal((await ask(path)).status, 404, path)
  })

  test('redirect to no other site', async () => {
    mkdirSync(join(root, 'example.com'))
    assert.equal((await ask('//example.com')).headers.location, 'example.com/')
  })

  for (const path of [
    '/none',
    '/../secret.txt',
    '/docs/../../secret.txt',
    '/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/%2e%2e%5csecret.txt',
    '/..\\secret.txt',
    '/docs/%00',
    '/%ff',
    '/out.txt',
    '/up/secret.txt',
    '/beside/secret.txt',
    '/git/config',
    '/.git/config',
    '/.env',
    '/pipe',
  ])
    test(`do not include ${path}`, async () => {
      const { status, body } = await ask(path)
      assert.equal(status, 404)
      assert.ok(!body.includes('secret'))
    })

  for (const [range, status, body, place] of [
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=8-', 206, '89', 'bytes 8-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    ['bytes=-30', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=5-99', 206, '56789', 'bytes 5-9/10'],
    ['bytes=10-', 416, 'The file is not that long.\n', 'bytes */10'],
    ['bytes=-0', 416, 'The file is not that long.\n', 'bytes */10'],
    ['bytes=4-2', 200, '0123456789', undefined],
    ['bytes=0-1,3-4', 200, '0123456789', undefined],
    ['lines=0-1', 200, '0123456789', undefined],
  ] as const)
    test(`are sent in part for ${range}`, async () => {
      const answer = await ask('/a%20b+%C3%BC.txt', { range })
      assert.deepEqual([answer.status, answer.body, answer.headers['content-range']], [status, body, place])
    })

  test('are not sent again while they are the same', async () => {
    const { headers } = await ask('/docs/')
    const { etag = '', 'last-modified': modified = '' } = headers
    assert.equal(modified, 'Sun, 17 Mar 2030 17:46:40 GMT')
    assert.equal((await ask('/docs/', { 'if-none-match': `"x", ${etag}` })).status, 304)
    assert.equal((await ask('/docs/', { 'if-none-match': '"x"', 'if-modified-since': modified })).status, 200)
    assert.equal((await ask('/docs/', { 'if-modified-since': modified })).status, 304)
    assert.equal((await ask('/docs/', { range: 'bytes=0-3', 'if-range': etag })).status, 206)
    assert.equal((await ask('/docs/', { range: 'bytes=0-3', 'if-range': '"x"' })).status, 200)
  })
})

test('an endpoint of files must be a folder that exists, over HTTP', () => {
  for (const [options, message] of [
    [{ forwardTo: 'file:///nonexistent' }, /the folder of file:\/\/\/nonexistent cannot be read: ENOENT/],
    [{ forwardTo: 'file://host/x' }, /must be file:\/\/\/ and an absolute path/],
    [{ forwardTo: 'file:x' }, /must be file:\/\/\/ and an absolute path/],
    [{ forwardTo: `file://${outside}/secret.txt` }, /is not a folder/],
    [{ forwardTo: `file://${root}`, proto: 'tcp' }, /only be served over HTTP: use "adit http"/],
    [{ forwardTo: `file://${root}`, proxyProto: 2 }, /supports neither a PROXY header nor HTTP\/2/],
  ] as const)
    assert.throws(() => readEndpoint(options), { name: 'AgentError', message })
})
