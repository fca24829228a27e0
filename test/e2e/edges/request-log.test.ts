import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, connect, createServer } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { secretText } from '../../support/secrets.ts'
import { World } from './world.ts'
import { until } from '../../support/until.ts'
import { newFolder } from '../../support/folder.ts'

const look = async (world: World, id: string) => (await world.server.api.get(`/requests/${id}`)).body

const verdictOf = ({ name, verdict }: { name: string; verdict: string }) => ({ name, verdict })

suite('the log entry of a request', () => {
  test('has edge, route, modules, backend and the time of each', async () => {
    await using world = await World.start()
    const edge = await world.edge(['a.example.test'])
    const backend = await world.static((_, response) => response.end('fine'))
    const route = await world.route(edge, '/', backend, {
      compression: {},
      request_headers: { add: { 'x-added': 'yes' } },
    })
    const got = await world.ask('a.example.test/some/path?secret=1', { method: 'POST', body: 'text' })
    const found = await until(() => look(world, got.requestId), { fits: body => body.complete })
    assert.equal(found.status, 200)
    assert.deepEqual(
      [found.method, found.scheme, found.host, found.path, found.ip],
      ['POST', 'https', 'a.example.test', '/some/path', '127.0.0.1'],
    )
    assert.deepEqual([found.edge_id, found.route_id, found.backend_id], [edge, route, backend])
    assert.deepEqual(found.modules.map(verdictOf), [
      { name: 'compression', verdict: 'passed' },
      { name: 'request_headers', verdict: 'passed' },
    ])
    for (const { name, microseconds } of found.modules) assert.ok(microseconds >= 0, name)
    assert.deepEqual([found.failed, found.error_code], [null, null])
    for (const field of ['modules_ms', 'backend_ms', 'content_ms']) assert.ok(found[field] >= 0, field)
  })

  test('has the module that rejected it, and those that did not run', async () => {
    await using world = await World.start()
    const edge = await world.edge(['a.example.test'])
    await world.route(edge, '/', await world.fixedResponse('fine'), {
      user_agent_filter: { deny: ['.*'] },
      webhook_verification: { provider: 'github', secret: secretText('webhook') },
    })
    const got = await world.ask('a.example.test', { headers: { 'user-agent': 'anything' } })
    assert.equal(got.status, 403)
    const found = await look(world, got.requestId)
    assert.deepEqual(found.modules.map(verdictOf), [
      { name: 'user_agent_filter', verdict: 'answered' },
      { name: 'webhook_verification', verdict: 'not_reached' },
    ])
    assert.deepEqual([found.failed, found.error_code, found.backend_ms], ['visitor', 'ERR_ADIT_3211', null])
  })

  test('has the party at which it failed', async () => {
    await using world = await World.start()
    const edge = await world.edge(['a.example.test'])
    const port = await world.service((request, response) => {
      if (request.url === '/broken') request.socket.destroy()
      else response.writeHead(500).end()
    })
    const service = await world.make('/backends/static', { address: `127.0.0.1:${port}` })
    const group = await world.make('/backends/tunnel_group', { labels: { app: 'none' } })
    const agent = await world.agent()
    const labelled = await world.make('/backends/tunnel_group', { labels: { app: 'dead' } })
    await agent.listen({ labels: { app: 'dead' }, forwardTo: '127.0.0.1:1' })
    await world.route(edge, '/', service.id)
    await world.route(edge, '/unknown', group.id)
    await world.route(edge, '/dead', labelled.id)
    for (const [path, failed] of [
      ['/error', 'upstream'],
      ['/broken', 'upstream'],
      ['/unknown', 'tunnel'],
      ['/dead', 'upstream'],
      ['/x/..%2fdead', 'visitor'],
    ] as const) {
      const { requestId } = await world.ask(`a.example.test${path}`)
      assert.equal((await look(world, requestId)).failed, failed, path)
    }
    const dead = (await world.server.api.get('/requests')).body.requests.find(
      (each: { path: string }) => each.path === '/dead',
    )
    assert.match(dead.tunnel_id, /^tn_/)
    assert.equal(dead.backend_id, labelled.id)
  })

  test('exists for requests without an endpoint, and a service cannot set its id', async () => {
    await using world = await World.start()
    const nothing = await world.ask('unknown.example.test')
    assert.equal((await look(world, nothing.requestId)).error_code, 'ERR_ADIT_3200')
    const edge = await world.edge(['a.example.test'])
    const forged = { 'adit-request-id': 'rq_forged', 'adit-error-code': 'ERR_ADIT_1' }
    await world.route(edge, '/', await world.static((_, response) => response.writeHead(200, forged).end()))
    const got = await world.ask('a.example.test')
    assert.match(got.requestId, /^rq_[0-9A-Za-z]{27}$/)
    assert.equal(got.code, undefined)
    assert.equal((await world.server.api.get('/requests/rq_forged')).status, 404)
  })

  test('has the body bytes both ways, and the versions of HTTP and TLS', async () => {
    await using world = await World.start()
    const edge = await world.edge(['a.example.test'])
    const backend = await world.static((request, response) => {
      request.resume().on('end', () => {
        if (request.url === '/pieces') response.write('12345')
        response.end('12345')
      })
    })
    await world.route(edge, '/', backend)
    const facts = async (id: string) => {
      const found = await until(() => look(world, id), { fits: body => body.content_ms !== null })
      return [found.http_version, found.tls_version, found.request_bytes, found.response_bytes]
    }
    const post = { method: 'POST', body: 'four' }
    const whole = await world.ask('a.example.test/', post)
    assert.deepEqual(await facts(whole.requestId), ['1.1', 'TLSv1.3', 4, 5])
    const pieces = await world.ask('a.example.test/pieces', {
      ...post,
      headers: { 'transfer-encoding': 'chunked' },
    })
    assert.deepEqual(await facts(pieces.requestId), ['1.1', 'TLSv1.3', 4, 10])
    const head = await world.ask('a.example.test/', { method: 'HEAD' })
    assert.deepEqual(await facts(head.requestId), ['1.1', 'TLSv1.3', 0, 0])
    const session = connectHttp2(`https://127.0.0.1:${world.server.bound.https?.port}`, {
      servername: 'a.example.test',
      ca: world.ca,
      maxVersion: 'TLSv1.2',
    })
    const asked = session.request({ ':authority': 'a.example.test', ':method': 'POST', ':path': '/pieces' })
    asked.resume().end('sevenby')
    const [answer] = await once(asked, 'response')
    assert.deepEqual(await facts(String(answer['adit-request-id'])), ['2', 'TLSv1.2', 7, 10])
    session.close()
  })

  test('has the bytes both ways after an upgrade', async () => {
    await using world = await World.start()
    const edge = await world.edge(['a.example.test'])
    const service = createServer(socket => {
      socket.once('data', () => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n')
        socket.once('data', bytes => socket.end(String(bytes).repeat(2)))
      })
    }).listen(0, '127.0.0.1')
    await once(service, 'listening')
    const { port } = service.address() as AddressInfo
    const backend = await world.make('/backends/static', { address: `127.0.0.1:${port}` })
    await world.route(edge, '/', backend.id)
    const client = connectTls({
      port: world.server.bound.https?.port ?? 0,
      host: '127.0.0.1',
      servername: 'a.example.test',
      ca: world.ca,
    })
    client.write('GET / HTTP/1.1\r\nHost: a.example.test\r\nConnection: Upgrade\r\nUpgrade: own\r\n\r\n')
    await once(client, 'data')
    client.write('hello')
    client.resume().on('end', () => client.end())
    await once(client, 'close')
    const found = await until(async () => (await world.server.api.get('/requests')).body.requests[0], {
      fits: body => body.content_ms !== null,
    })
    assert.deepEqual([found.status, found.request_bytes, found.response_bytes], [101, 5, 10])
    service.close()
  })

  test('has neither for a malformed request over plain HTTP', async () => {
    await using world = await World.start()
    const socket = connect({ port: world.server.bound.http?.port ?? 0, host: '127.0.0.1' })
    socket.end('no request\r\n\r\n')
    const [bytes] = await once(socket, 'data')
    const [, id = ''] = /adit-request-id: (\S+)/i.exec(String(bytes)) ?? []
    const found = await look(world, id)
    assert.deepEqual([found.http_version, found.tls_version, found.status], [null, null, 400])
    assert.ok(found.response_bytes > 0)
  })

  test('exists for the last requests only, newest first, in pages', async () => {
    await using world = await World.start({ kept_requests: '5' })
    const edge = await world.edge(['a.example.test'])
    await world.route(edge, '/', await world.fixedResponse('fine'))
    const ids: string[] = []
    for (let at = 0; at < 7; at++) ids.unshift((await world.ask(`a.example.test/${at}`)).requestId)
    const { api } = world.server
    const page = (await api.get('/requests?limit=3')).body
    assert.deepEqual(
      page.requests.map((each: { id: string }) => each.id),
      ids.slice(0, 3),
    )
    const rest = (await api.get(page.next_page_uri)).body
    assert.deepEqual(
      rest.requests.map((each: { path: string }) => each.path),
      ['/3', '/2'],
    )
    assert.equal((await api.get(`/requests/${ids.at(-1)}`)).status, 404)
  })
})

suite('the access log', () => {
  test('has a line of JSON for each request, without its query', async () => {
    const file = join(newFolder(), 'access.log')
    await using world = await World.start({ access_log: file })
    const edge = await world.edge(['a.example.test'])
    await world.route(edge, '/', await world.fixedResponse('fine'))
    const { requestId } = await world.ask('a.example.test/path?token=hidden')
    const text = await until(async () => readFileSync(file, 'utf8'), { fits: found => found.endsWith('\n') })
    assert.doesNotMatch(text, /hidden/)
    const line = JSON.parse(text)
    assert.deepEqual([line.id, line.path, line.status, line.edge_id], [requestId, '/path', 200, edge])
    assert.deepEqual(
      [line.http_version, line.tls_version, line.request_bytes, line.response_bytes],
      ['1.1', 'TLSv1.3', 0, 4],
    )
  })
})

suite('the list of requests', () => {
  test('is filtered by host, path, method, status, party, route, tunnel, address and time', async () => {
    await using world = await World.start()
    const edge = await world.edge(['a.example.test', 'b.example.test'])
    const port = await world.service((request, response) =>
      response.writeHead(request.url === '/error' ? 500 : 200).end(),
    )
    const service = await world.make('/backends/static', { address: `127.0.0.1:${port}` })
    const route = await world.route(edge, '/', service.id)
    const group = await world.make('/backends/tunnel_group', { labels: { app: 'web' } })
    const agent = await world.agent({ metadata: 'web-1' })
    await agent.listen({ labels: { app: 'web' }, forwardTo: `127.0.0.1:${port}` })
    await world.route(edge, '/tunnel', group.id)
    const begun = new Date().toISOString()
    const ask = async (at: string, method = 'GET') => (await world.ask(at, { method })).requestId
    const ids = {
      fine: await ask('a.example.test/fine'),
      other: await ask('b.example.test/fine', 'POST'),
      error: await ask('a.example.test/error'),
      tunnel: await ask('a.example.test/tunnel'),
    }
    const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]))
    const listed = async (query: string): Promise<string> => {
      const { body } = await world.server.api.get(`/requests?${query}`)
      return body.requests.map(({ id }: { id: string }) => names.get(id)).join(' ')
    }
    const { tunnel_id: tunnel, agent: name } = await look(world, ids.tunnel)
    assert.equal(name, 'web-1')
    assert.equal((await look(world, ids.fine)).agent, null)
    for (const [query, expected] of [
      ['host=B.example.test', 'other'],
      ['path=/f', 'other fine'],
      ['method=post', 'other'],
      ['status=500', 'error'],
      ['status=2xx', 'tunnel other fine'],
      ['failed=any', 'error'],
      ['failed=upstream', 'error'],
      ['failed=edge', ''],
      [`tunnel_id=${tunnel}`, 'tunnel'],
      [`edge_id=${edge}`, 'tunnel error other fine'],
      [`route_id=${route}`, 'error other fine'],
      ['ip=127.0.0.1', 'tunnel error other fine'],
      ['ip=127.0.0.0/8', 'tunnel error other fine'],
      ['ip=2001:db8::/32', ''],
      [`since=${begun}`, 'tunnel error other fine'],
      ['since=2999-01-01T00:00:00Z', ''],
      [`route_id=${route}&status=2xx&host=a.example.test`, 'fine'],
    ] as const)
      assert.equal(await listed(query), expected, query)
    const { body: first } = await world.server.api.get('/requests?status=2xx&limit=2')
    assert.equal(first.requests.length, 2)
    const next = await world.server.api.get(first.next_page_uri.slice(world.server.api.url.length))
    assert.deepEqual(
      next.body.requests.map(({ id }: { id: string }) => names.get(id)),
      ['fine'],
    )
  })

  test('names the values that a filter allows', async () => {
    await using world = await World.start()
    for (const [query, code, says] of [
      ['status=6', 90311, /"status": "6" is not allowed\. Allowed: 404 or 5xx\./],
      ['failed=me', 90311, /Allowed: any, visitor, edge, tunnel, agent, upstream\./],
      ['ip=here', 90310, /"ip": "here" is neither an IP address nor a network/],
      ['ip=10.0.0.0/33', 90310, /neither an IP address nor a network/],
      ['since=now', 90221, /not an RFC 3339 time/],
      ['host=', 90220, /1 to 300 characters/],
      ['color=red', 231, /color/],
    ] as const) {
      const { status, body } = await world.server.api.get(`/requests?${query}`)
      assert.equal(status, 400, query)
      assert.match(body.msg, says)
      assert.equal(body.error_code, `ERR_ADIT_${code}`, query)
    }
  })
})
