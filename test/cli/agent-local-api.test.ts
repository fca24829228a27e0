import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request } from 'node:http'
import { connect, createServer, type AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { configFile, environmentOf, spawnAgent, visit, webService } from './agent-support.ts'
import { LocalAgent } from './local-api-support.ts'
import { runAdit, startServer, type TestServer } from '../support/server.ts'

let server: TestServer
before(async () => (server = await startServer()))
after(() => server[Symbol.asyncDispose]())

const greeting = () => webService((request_, response) => response.end(`hello ${request_.url ?? ''}`))

suite('tunnels of the local API', () => {
  test('are started, listed, visited and stopped', async () => {
    await using service = await greeting()
    await using local = await LocalAgent.start(server)
    assert.equal((await local.get('/api/tunnels')).text, '{"tunnels":[],"uri":"/api/tunnels"}\n')
    const made = await local.post('/api/tunnels', {
      name: 'my (web)',
      addr: service.port,
      proto: 'http',
      schemes: ['https', 'http'],
    })
    assert.equal(made.status, 201)
    assert.equal(made.body.uri, '/api/tunnels/my%20%28web%29')
    assert.equal(made.body.proto, 'https')
    assert.deepEqual(Object.keys(made.body), [
      'name',
      'ID',
      'uri',
      'public_url',
      'proto',
      'config',
      'metrics',
    ])
    assert.deepEqual(made.body.config, { addr: `http://localhost:${service.port}`, inspect: true })
    const { body: list, text, headers } = await local.get('/api/tunnels')
    assert.equal(headers.get('content-length'), String(Buffer.byteLength(text)))
    assert.deepEqual(
      list.tunnels.map(({ name }: { name: string }) => name),
      ['my (web)', 'my (web) (http)'],
    )
    const http = String(list.tunnels[1].public_url)
    assert.equal((await visit(`${http}/a`)).body, 'hello /a')
    const { body: shown } = await local.get('/api/tunnels/my%20(web)%20(http)')
    assert.equal(shown.metrics.conns.count, 1)
    assert.equal(shown.metrics.http.count, 1)
    assert.ok(shown.metrics.http.p50 > 0)
    for (const { uri } of list.tunnels) assert.equal((await local.call('DELETE', uri, '{}')).status, 204)
    assert.deepEqual((await local.get('/api/tunnels')).body.tunnels, [])
    assert.equal((await visit(http)).status, 404)
  })

  test('of every protocol show the address that wrappers expect', async () => {
    await using local = await LocalAgent.start(server)
    const rows: readonly (readonly [object, string, RegExp])[] = [
      [{ proto: 'http', addr: 5000 }, 'http://localhost:5000', /^https:/],
      [{ proto: 'http', addr: '443' }, 'https://localhost:443', /^https:/],
      [{ proto: 'http', addr: 81, bind_tls: false }, 'http://localhost:81', /^http:/],
      [{ proto: 'tcp', addr: '22' }, 'localhost:22', /^tcp:\/\/.*:\d+$/],
      [{ proto: 'tls', addr: '443' }, 'tls://localhost:443', /^tls:/],
      [{ proto: 'tls', addr: '80' }, 'localhost:80', /^tls:/],
    ]
    for (const [at, [body, addr, url]] of rows.entries()) {
      const made = await local.post('/api/tunnels', { name: `t${at}`, ...body })
      assert.equal(made.status, 201, made.text)
      assert.equal(made.body.config.addr, addr)
      assert.match(made.body.public_url, url)
    }
  })

  test('take the keys that wrappers add', async () => {
    await using service = await greeting()
    await using local = await LocalAgent.start(server)
    const { status, body } = await local.post('/api/tunnels', {
      name: 'old',
      proto: 'http',
      addr: Number(service.port),
      authtoken: 'x',
      region: 'us',
      configPath: '/x',
      port: 1,
      host: 'x',
      web_addr: 'x',
      httpauth: 'me:secret word',
      subdomain: 'wrapped',
      bind_tls: false,
      path: '/bin',
      metadata: null,
    })
    assert.equal(status, 201)
    assert.match(body.public_url, /^http:\/\/wrapped\./)
    assert.equal((await visit(body.public_url)).status, 401)
    const authorization = `Basic ${Buffer.from('me:secret word').toString('base64')}`
    assert.equal((await visit(body.public_url, { authorization })).status, 200)
  })

  test('of the command line and of the file are listed', async () => {
    await using one = await LocalAgent.start(server, ['http', '1'])
    const { body } = await one.get('/api/tunnels')
    assert.deepEqual(
      body.tunnels.map(({ name, proto }: { name: string; proto: string }) => [name, proto]),
      [
        ['command_line', 'https'],
        ['command_line (http)', 'http'],
      ],
    )
    using file = configFile(
      'version: 1\ntunnels:\n  ssh: { proto: tcp, addr: 22 }\n  web: { proto: http, addr: 80, inspect: false }\n',
    )
    await using two = await LocalAgent.start(server, ['start', 'ssh', 'web', '--config', file.path])
    const { body: both } = await two.get('/api/tunnels')
    const found = both.tunnels.map(({ name, config }: { name: string; config: object }) => [name, config])
    assert.deepEqual(Object.fromEntries(found), {
      ssh: { addr: 'localhost:22', inspect: false },
      web: { addr: 'http://localhost:80', inspect: false },
      'web (http)': { addr: 'http://localhost:80', inspect: false },
    })
    // The name of a definition that does not run is free.
    assert.equal((await one.post('/api/tunnels', { name: 'ssh', proto: 'tcp', addr: 22 })).status, 201)
  })
})

suite('endpoints of the local API', () => {
  test('are started, replaced and stopped, with the fields of tunnels too', async () => {
    await using service = await greeting()
    await using local = await LocalAgent.start(server)
    const made = await local.post('/api/endpoints', {
      name: 'web',
      upstream: { url: `http://localhost:${service.port}` },
    })
    assert.equal(made.status, 201, made.text)
    assert.deepEqual(made.body.upstream, { url: `http://localhost:${service.port}`, protocol: 'http1' })
    assert.equal(made.body.url, made.body.public_url)
    assert.equal(made.body.uri, '/api/endpoints/web')
    const tcp = await local.post('/api/endpoints', {
      name: 'ssh',
      upstream: { url: 'tcp://localhost:22' },
      url: 'tcp://',
      inspect: false,
    })
    assert.match(tcp.body.url, /^tcp:/)
    const url = { upstream: { url: service.port }, url: 'http://' }
    const replaced = await local.call('PUT', '/api/endpoints/web', url)
    assert.equal(replaced.status, 200)
    assert.equal((await visit(`${replaced.body.url}/b`)).body, 'hello /b')
    assert.equal((await local.call('PUT', '/api/endpoints/new', { upstream: { url: 1 } })).status, 201)
    const { body } = await local.get('/api/endpoints')
    assert.deepEqual(
      body.endpoints.map(({ name }: { name: string }) => name),
      ['ssh', 'web', 'new'],
    )
    assert.equal((await local.call('DELETE', '/api/endpoints/web')).status, 204)
    assert.equal((await local.get('/api/endpoints/web')).status, 404)
  })

  test('continue as they were when they cannot be replaced', async () => {
    await using local = await LocalAgent.start(server)
    const given = { name: 'web', upstream: { url: 81 }, url: 'http://kept.adit.localhost' }
    const made = await local.post('/api/endpoints', given)
    assert.equal(made.status, 201, made.text)
    const changed = { upstream: { url: 81 }, url: 'https://not.reserved.example' }
    assert.equal((await local.call('PUT', '/api/endpoints/web', changed)).status, 502)
    assert.equal((await local.get('/api/endpoints/web')).body.url, made.body.url)
  })
})

suite('errors of the local API', () => {
  const web = { name: 'x', proto: 'http', addr: 80 }
  const rows: readonly (readonly [string, string, unknown, number, number, RegExp])[] = [
    ['POST', '/api/tunnels', { ...web, proto: 'ftp' }, 400, 102, /protocol name/],
    ['POST', '/api/tunnels', { ...web, proto: undefined }, 400, 102, /protocol name/],
    ['POST', '/api/tunnels', { ...web, name: '' }, 400, 102, /^name: must be a text/],
    ['POST', '/api/tunnels', { ...web, name: 'a\nb' }, 400, 102, /^name: must be a text/],
    ['POST', '/api/tunnels', { ...web, name: 'x'.repeat(300) }, 400, 102, /^name: may have at most 256/],
    ['POST', '/api/tunnels', { ...web, addr: undefined }, 400, 102, /^addr: must be a port/],
    ['POST', '/api/tunnels', { ...web, addr: 99_999 }, 400, 102, /"99999" is not an address/],
    ['POST', '/api/tunnels', { ...web, adr: 1 }, 400, 102, /^field adr not found/],
    ['POST', '/api/tunnels', { ...web, basic_auth: 'x' }, 400, 102, /^basic_auth must be/],
    [
      'POST',
      '/api/tunnels',
      { ...web, traffic_policy: {} },
      400,
      102,
      /^field traffic_policy has no equivalent/,
    ],
    ['POST', '/api/tunnels', [], 400, 102, /must be a JSON object/],
    ['POST', '/api/tunnels', '{', 400, 100, /not JSON/],
    ['POST', '/api/tunnels', { ...web, hostname: 'a.example.org' }, 502, 103, /\r\n\r\nERR_NGROK_90054\r\n$/],
    ['POST', '/api/endpoints', { name: 'x', addr: 80 }, 400, 102, /^field addr not found/],
    ['POST', '/api/endpoints', { name: 'x' }, 400, 102, /^upstream: must be an object/],
    ['POST', '/api/endpoints', { name: 'x', upstream: { url: 1 }, url: 'ftp://' }, 400, 102, /protocol name/],
    ['GET', '/api/tunnels/none', undefined, 404, 100, /^tunnel "none" is not running$/],
    ['DELETE', '/api/tunnels/none', undefined, 404, 100, /is not running/],
    ['GET', '/api/nothing', undefined, 404, 100, /no resource/],
    ['GET', '/api/tunnels/%ff', undefined, 400, 100, /percent-encoding/],
    ['PATCH', '/api/tunnels', {}, 405, 100, /GET, POST/],
    ['GET', '/api/requests/http?limit=x', undefined, 400, 100, /^limit: /],
    ['GET', '/api/requests/http/none', undefined, 404, 100, /no captured request/],
    ['POST', '/api/requests/http', { id: 'none' }, 404, 100, /no captured request/],
    ['POST', '/api/requests/http', {}, 400, 100, /^id: /],
  ]

  test('name what is wrong, in one format, and running tunnels continue', async () => {
    await using service = await greeting()
    await using local = await LocalAgent.start(server)
    const good = { name: 'good', proto: 'http', addr: service.port, schemes: ['http'] }
    const { body: running } = await local.post('/api/tunnels', good)
    for (const [method, path, body, status, code, err] of rows) {
      const failed = await local.call(method, path, body)
      assert.equal(failed.status, status, failed.text)
      assert.deepEqual(Object.keys(failed.body), ['error_code', 'status_code', 'msg', 'details'])
      assert.equal(failed.body.error_code, code)
      assert.equal(failed.body.status_code, status)
      assert.match(failed.body.details.err, err)
    }
    const twice = await local.post('/api/tunnels', good)
    assert.deepEqual(twice.body, {
      error_code: 102,
      status_code: 400,
      msg: 'invalid tunnel configuration',
      details: { err: 'tunnel "good" already exists' },
    })
    // A name whose start failed is free.
    assert.equal((await local.post('/api/tunnels', web)).status, 201)
    assert.equal((await visit(running.public_url)).status, 200)
  })

  test('a start without a connection to the gateway is answered 503, and leaves the name free', async () => {
    const environment = { ADIT_SERVER_ADDR: '127.0.0.1:1', ADIT_AUTHTOKEN: 'x' }
    await using local = await LocalAgent.startOffline(server, undefined, environment)
    const first = await local.post('/api/tunnels', web)
    const second = await local.post('/api/tunnels', web)
    for (const { status, text } of [first, second]) {
      assert.equal(status, 503)
      assert.equal(
        text,
        '{"error_code":104,"status_code":503,"msg":"ngrok is not yet ready to start tunnels","details":{"err":"a successful ngrok tunnel session has not yet been established"}}\n',
      )
    }
    assert.equal((await local.get('/api/status')).body.status, 'connecting')
  })

  test('bodies that are not JSON by their type, and too large ones, are rejected', async () => {
    await using local = await LocalAgent.start(server)
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    assert.equal((await local.call('POST', '/api/tunnels', 'name=x', form)).status, 415)
    const large = await local.call('POST', '/api/tunnels', `"${'x'.repeat(17 * 1_048_576)}"`)
    assert.equal(large.body.details.err, 'a body may have 16777216 bytes')
  })
})

suite('access to the local API', () => {
  /** A request with any Host. */
  async function status(url: string, headers: Record<string, string>, method = 'GET'): Promise<number> {
    const sent = request(`${url}/api/tunnels`, { headers, method, agent: false }).end()
    const [response] = await once(sent, 'response')
    response.resume()
    assert.equal(response.headers['access-control-allow-origin'], undefined)
    return response.statusCode
  }

  test('is denied to names and origins of other sites', async () => {
    await using local = await LocalAgent.start(server)
    const { host, port } = new URL(local.url)
    const rows: readonly (readonly [Record<string, string>, number])[] = [
      [{ host }, 200],
      [{ host: `localhost:${port}` }, 200],
      [{ host: 'localhost' }, 200],
      [{ host: '[::1]:4040' }, 200],
      [{ host: 'rebound.example' }, 403],
      [{ host: `rebound.example:${port}` }, 403],
      [{ host: 'localhost.example' }, 403],
      [{ host: '127.0.0.1.example' }, 403],
      [{ host: '10.0.0.1' }, 403],
      [{ host: 'a@localhost' }, 403],
      [{ host, origin: local.url }, 200],
      [{ host, origin: 'https://evil.example' }, 403],
      [{ host, origin: 'null' }, 403],
      [{ host: `localhost:${port}`, origin: `http://localhost:1` }, 403],
    ]
    for (const [headers, expected] of rows)
      assert.equal(await status(local.url, headers), expected, JSON.stringify(headers))
    assert.equal(await status(local.url, { host, origin: 'https://evil.example' }, 'OPTIONS'), 403)
  })

  test('is extended by web_allow_hosts', async () => {
    using file = configFile(
      'version: 1\nweb_allow_hosts: [dev.example, .lan.example, 10.0.0.0/8, 192.0.2.1]\n',
    )
    await using local = await LocalAgent.start(server, ['start', '--none', '--config', file.path])
    for (const host of ['dev.example', 'a.lan.example:1', '10.1.2.3', '192.0.2.1'])
      assert.equal(await status(local.url, { host }), 200, host)
    for (const host of ['x.dev.example', 'lan.example', '192.0.2.2'])
      assert.equal(await status(local.url, { host }), 403, host)
  })

  test('is possible through a tunnel to the API itself', async () => {
    await using local = await LocalAgent.start(server)
    const { port } = new URL(local.url)
    const { body } = await local.post('/api/tunnels', {
      name: 'self',
      proto: 'http',
      addr: port,
      schemes: ['http'],
    })
    assert.equal((await visit(`${body.public_url}/api/status`)).status, 200)
  })
})

suite('the address of the local API', () => {
  test('is the next free port when the default one is taken', async () => {
    // Both may be in use by other tests: then it is the one after.
    await using first = spawnAgent(server, ['start', '--none', '--log-level', 'debug'])
    const [, taken = ''] = await first.waitForOutput(
      /msg=inspector url=http:\/\/127\.0\.0\.1:(40\d\d|41[0-3]\d)\n/,
    )
    await using second = spawnAgent(server, ['start', '--none', '--log-level', 'debug'])
    const [, other = ''] = await second.waitForOutput(/msg=inspector url=http:\/\/127\.0\.0\.1:(\d+)\n/)
    assert.notEqual(other, taken)
    const [answer] = await once(request(`http://[::1]:${other}/api/status`).end(), 'response')
    assert.equal(answer.statusCode, 200)
    answer.resume()
  })

  test('ends the program when it was chosen and is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const args = ['start', '--none', '--web-addr', `127.0.0.1:${port}`]
    const { code, stderr } = await runAdit(args, environmentOf(server))
    other.close()
    assert.equal(code, 1)
    assert.match(stderr, new RegExp(`${port}: bind: address already in use; set web_addr`))
  })

  test('may be switched off', async () => {
    using file = configFile('version: 1\nweb_addr: false\n')
    const args = ['http', '1', '--scheme', 'http', '--config', file.path, '--log-level', 'debug']
    await using agent = spawnAgent(server, args)
    await agent.waitForOutput(/msg=online/)
    assert.doesNotMatch(agent.output, /msg=inspector/)
  })

  test('is refused when it is not one', async () => {
    for (const [address, what] of [
      ['4040', 'host:port or false'],
      ['127.0.0.1:99999', 'host:port or false'],
    ] as const) {
      const { code, stderr } = await runAdit(
        ['start', '--none', '--web-addr', address],
        environmentOf(server),
      )
      assert.equal(code, 2)
      assert.equal(stderr, `adit: --web-addr must be ${what}\n`)
    }
  })

  test('survives connections that send nothing or garbage', async () => {
    await using local = await LocalAgent.start(server)
    const socket = connect(Number(new URL(local.url).port), '127.0.0.1')
    socket.end('\u0000\u0001 garbage\r\n\r\n')
    await once(socket.resume(), 'close')
    assert.equal((await local.get('/api/status')).status, 200)
  })
})

test('the status names the session', async () => {
  await using local = await LocalAgent.start(server, ['http', '1'])
  const { body } = await local.get('/api/status')
  assert.equal(body.status, 'online')
  assert.match(body.agent_version, /^\d+\.\d+\.\d+$/)
  assert.match(body.session.legs[0].latency, /^\d+ms$/)
  assert.equal(body.session.legs[0].region, 'us')
  const page = await local.get('/')
  assert.equal(page.status, 302)
  assert.equal(page.headers.get('location'), '/inspect/http')
})
