import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { request, type IncomingMessage, type RequestOptions } from 'node:http'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { buffer } from 'node:stream/consumers'
import { visit, webService } from './agent-support.ts'
import { LocalAgent } from './local-api-support.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { newFolder } from '../support/folder.ts'

let server: TestServer
before(async () => (server = await startServer()))
after(() => server[Symbol.asyncDispose]())

const text = (base64: string): string => Buffer.from(base64, 'base64').toString('latin1')

/** A request that is still open. */
function send(url: string, options: RequestOptions) {
  const { host, port, pathname, search } = new URL(url)
  const headers = { host, ...(options.headers as Record<string, string> | undefined) }
  return request({ host: '127.0.0.1', port, path: pathname + search, agent: false, ...options, headers })
}

async function opened(local: LocalAgent, service: { port: string }, more: object = {}): Promise<string> {
  const body = { name: 'web', proto: 'http', addr: service.port, schemes: ['http'], ...more }
  const made = await local.post('/api/tunnels', body)
  assert.equal(made.status, 201, made.text)
  return String(made.body.public_url)
}

suite('captured requests', () => {
  test('of a folder are recorded and replayed too', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'page.txt'), 'from a file')
    await using local = await LocalAgent.start(server)
    const url = await opened(local, { port: `file://${folder}` })
    assert.equal((await visit(`${url}/page.txt`)).body, 'from a file')
    const [only] = (await local.get('/api/requests/http')).body.requests
    assert.deepEqual([only.request.uri, only.response.status_code], ['/page.txt', 200])
    assert.match(text(only.response.raw), /\r\n\r\nfrom a file$/)
    assert.equal((await local.post('/api/requests/http', { id: only.id })).status, 204)
    const [replayed] = (await local.get('/api/requests/http')).body.requests
    assert.notEqual(replayed.id, only.id)
    assert.match(text(replayed.response.raw), /^HTTP\/1\.1 200 [^]*from a file$/)
    rmSync(folder, { recursive: true })
  })

  test('have head, body, status and timing of both messages', async () => {
    await using service = await webService(async (incoming, response) => {
      const received = await buffer(incoming)
      response.writeHead(201, 'Made', { 'content-type': 'text/plain', 'x-two': ['a', 'b'] })
      response.end(`got ${received.length}`)
    })
    await using local = await LocalAgent.start(server)
    const url = await opened(local, service)
    const sent = send(`${url}/a?b=c`, { method: 'POST', headers: { 'content-type': 'text/plain' } })
    sent.end('some text')
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    assert.equal((await buffer(response)).toString(), 'got 9')
    const { body } = await local.get('/api/requests/http?limit=1&tunnel_name=web')
    assert.deepEqual(Object.keys(body), ['uri', 'requests'])
    const [only] = body.requests
    assert.deepEqual(
      [only.tunnel_name, only.remote_addr, only.uri],
      ['web', '127.0.0.1', `/api/requests/http/${only.id}`],
    )
    assert.ok(Math.abs(Date.parse(only.start) - Date.now()) < 60_000)
    assert.ok(Number.isSafeInteger(only.duration) && only.duration > 0)
    assert.deepEqual(
      [only.request.method, only.request.uri, only.request.proto],
      ['POST', '/a?b=c', 'HTTP/1.1'],
    )
    assert.deepEqual(only.request.headers['Content-Type'], ['text/plain'])
    assert.match(text(only.request.raw), /^POST \/a\?b=c HTTP\/1\.1\r\n[^]*\r\n\r\n[^]*some text/)
    assert.deepEqual([only.response.status, only.response.status_code], ['201 Made', 201])
    assert.deepEqual(only.response.headers['X-Two'], ['a', 'b'])
    assert.match(text(only.response.raw), /^HTTP\/1\.1 201 Made\r\n[^]*got 9/)
    const { body: detail } = await local.get(only.uri)
    assert.equal(text(detail.bodies.request.base64), 'some text')
    assert.equal(text(detail.bodies.response.base64), 'got 9')
    assert.equal(detail.complete, true)
    assert.ok(detail.first_byte > 0 && detail.first_byte <= detail.duration)
    assert.deepEqual((await local.get('/api/requests/http?tunnel_name=other')).body.requests, [])
    assert.equal((await local.call('DELETE', '/api/requests/http', {})).status, 204)
    assert.deepEqual((await local.get('/api/requests/http')).body.requests, [])
  })

  test('are decoded', async () => {
    const codings = { gzip: gzipSync('decoded gzip'), br: brotliCompressSync('decoded br') }
    await using service = await webService((incoming, response) => {
      const coding = (incoming.url ?? '').slice(1) as keyof typeof codings
      response.setHeader('content-encoding', coding)
      response.end(codings[coding])
    })
    await using local = await LocalAgent.start(server)
    const url = await opened(local, service)
    for (const coding of Object.keys(codings)) {
      await visit(`${url}/${coding}`)
      const [newest] = (await local.get('/api/requests/http')).body.requests
      const { body } = await local.get(newest.uri)
      assert.equal(text(body.bodies.response.base64), `decoded ${coding}`)
    }
  })

  test('show the response of the agent when the upstream cannot be reached', async () => {
    await using local = await LocalAgent.start(server)
    const url = await opened(local, { port: '1' })
    assert.equal((await visit(url)).status, 502)
    const [only] = (await local.get('/api/requests/http')).body.requests
    assert.equal(only.response.status_code, 502)
    assert.match(text(only.response.raw), /ECONNREFUSED/)
  })

  test('never delay a body', async () => {
    const finish = Promise.withResolvers<void>()
    await using service = await webService(async (_, response) => {
      response.write('first')
      await finish.promise
      response.end('last')
    })
    await using local = await LocalAgent.start(server)
    const url = await opened(local, service)
    const [response] = (await once(send(url, {}).end(), 'response')) as [IncomingMessage]
    const [first] = await once(response, 'data')
    assert.equal(String(first), 'first')
    const [only] = (await local.get('/api/requests/http')).body.requests
    const { body: open } = await local.get(only.uri)
    assert.deepEqual([open.complete, text(open.bodies.response.base64)], [false, 'first'])
    finish.resolve()
    await buffer(response)
    const { body: done } = await local.get(only.uri)
    assert.deepEqual([done.complete, text(done.bodies.response.base64)], [true, 'firstlast'])
  })

  test('keep a part of a large body, which passes whole', async () => {
    const size = 5 * 1_048_576
    await using service = await webService(async (incoming, response) => {
      response.end(String((await buffer(incoming)).length))
    })
    await using local = await LocalAgent.start(server)
    const url = await opened(local, service)
    const sent = send(url, { method: 'POST', headers: { 'content-length': String(size) } })
    sent.end(Buffer.alloc(size))
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    assert.equal((await buffer(response)).toString(), String(size))
    const [only] = (await local.get('/api/requests/http')).body.requests
    assert.equal(Buffer.from(only.request.raw, 'base64').length, 1_048_576)
    const { body } = await local.get(only.uri)
    assert.deepEqual([body.bodies.request.size, body.bodies.request.truncated], [size, true])
    const replayed = await local.post('/api/requests/http', { id: only.id })
    assert.equal(replayed.status, 400)
    assert.match(replayed.body.details.err, /too long to replay/)
  })

  for (const [way, args, more] of [
    ['inspect: false', ['start', '--none'], { inspect: false }],
    ['--inspect off', ['start', '--none', '--inspect', 'off'], {}],
  ] as const)
    test(`are not kept with ${way}`, async () => {
      await using service = await webService((_, response) => response.end())
      await using local = await LocalAgent.start(server, args)
      const url = await opened(local, service, more)
      assert.equal((await visit(url)).status, 200)
      assert.deepEqual((await local.get('/api/requests/http')).body.requests, [])
      const { body } = await local.get('/api/tunnels/web')
      assert.deepEqual(
        [body.config.inspect, body.metrics.conns.count, body.metrics.http.count],
        [false, 1, 0],
      )
    })
})

suite('replay', () => {
  test('sends the request to the upstream again and records it before it answers', async () => {
    const seen: string[] = []
    await using service = await webService(async (incoming, response) => {
      seen.push(`${incoming.method} ${incoming.url} ${(await buffer(incoming)).toString()}`)
      response.end(`answer ${seen.length}`)
    })
    await using local = await LocalAgent.start(server)
    const url = await opened(local, service)
    const sent = send(`${url}/hook`, { method: 'POST' })
    sent.end('{"a":1}')
    await once(sent, 'response')
    const [first] = (await local.get('/api/requests/http')).body.requests
    // What wrappers send: null, and a key that is not known.
    for (const more of [{}, { tunnel_name: null }, { tunnelName: 'x' }]) {
      const { status, text: none } = await local.post('/api/requests/http', { id: first.id, ...more })
      assert.deepEqual([status, none], [204, ''])
    }
    const { requests } = (await local.get('/api/requests/http')).body
    assert.equal(requests.length, 4)
    assert.deepEqual(new Set(seen), new Set(['POST /hook {"a":1}']))
    assert.equal(text((await local.get(requests[0].uri)).body.bodies.response.base64), 'answer 4')
    assert.equal((await local.get(requests[0].uri)).body.replay_of, first.id)
    const ids = requests.map(({ id }: { id: string }) => id)
    assert.deepEqual(ids, ids.toSorted().toReversed())
  })

  test('may change the request, and go to another tunnel', async () => {
    const seen: string[] = []
    const record = (name: string) =>
      webService(async (incoming, response) => {
        const { method, url, headers } = incoming
        seen.push(
          `${name} ${method} ${url} ${String(headers['x-new'])} ${(await buffer(incoming)).toString()}`,
        )
        response.end()
      })
    await using one = await record('one')
    await using two = await record('two')
    await using local = await LocalAgent.start(server)
    const url = await opened(local, one)
    await opened(local, two, { name: 'other' })
    await visit(`${url}/a`)
    const [first] = (await local.get('/api/requests/http')).body.requests
    const edited = {
      method: 'PUT',
      uri: '/changed?x=1',
      headers: { Host: ['x'], 'X-New': ['yes'], 'Content-Length': ['999'] },
      body: Buffer.from('new body').toString('base64'),
    }
    const change = { id: first.id, tunnel_name: 'other', request: edited }
    assert.equal((await local.post('/api/requests/http', change)).status, 204)
    assert.deepEqual(seen, ['one GET /a undefined ', 'two PUT /changed?x=1 yes new body'])
    for (const [wrong, err] of [
      [{ method: 'GET /x' }, /^request\.method/],
      [{ uri: '/a b' }, /^request\.uri/],
      [{ headers: { 'a b': 'x' } }, /is not a header name/],
      [{ headers: { a: 'x\r\ny: z' } }, /text of one line/],
    ] as const) {
      const body = { ...change, request: { ...edited, ...wrong } }
      const failed = await local.post('/api/requests/http', body)
      assert.equal(failed.status, 400)
      assert.match(failed.body.details.err, err)
    }
    assert.equal((await local.post('/api/requests/http', { ...change, tunnel_name: 'gone' })).status, 404)
  })

  test('of a tunnel whose upstream is away records that', async () => {
    await using local = await LocalAgent.start(server)
    const url = await opened(local, { port: '1' })
    await visit(url)
    const [first] = (await local.get('/api/requests/http')).body.requests
    assert.equal((await local.post('/api/requests/http', { id: first.id })).status, 204)
    const [newest, second] = (await local.get('/api/requests/http')).body.requests
    assert.equal(second.id, first.id)
    assert.equal(newest.response.status_code, 502)
  })
})
