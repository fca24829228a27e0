import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer, type AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { configFile, environmentOf, spawnAgent, visit, webService } from './agent-support.ts'
import { issue } from '../support/openssl.ts'
import { runAdit, startServer, type TestServer } from '../support/server.ts'
import { Folder } from '../support/folder.ts'

let server: TestServer
before(async () => (server = await startServer()))
after(() => server[Symbol.asyncDispose]())

const greeting = () =>
  webService((request, response) => response.end(`hello ${request.url ?? ''} ${request.headers.host ?? ''}`))

/** Sends a line back, and ends. */
async function echo() {
  const service = createServer(socket => socket.once('data', data => socket.end(`you said ${String(data)}`)))
  service.listen(0, '127.0.0.1')
  await once(service, 'listening')
  return {
    port: String((service.address() as AddressInfo).port),
    [Symbol.asyncDispose]: async () => void service.close(),
  }
}

suite('adit http', () => {
  test('needs no option beside the gateway, and shows https and http under one name', async () => {
    await using service = await greeting()
    await using agent = spawnAgent(server, ['http', service.port])
    const [, http = ''] = await agent.waitForOutput(/^url=(http:\S+) forwards_to=http:\/\/localhost:\d+\n/m)
    await agent.waitForOutput(/msg=online .*\n/)
    const [first = '', second = '', third = ''] = agent.output.split('\n')
    assert.match(first, new RegExp(`^url=https://\\S+ forwards_to=http://localhost:${service.port}$`))
    assert.equal(new URL(first.slice(4).split(' ')[0] ?? '').hostname, new URL(http).hostname)
    assert.match(second, /^url=http:/)
    assert.match(third, /^time=\S+Z level=info msg=online server_version=\S+ region=us$/)
    const { status, body } = await visit(`${http}/a`)
    assert.deepEqual({ status, body }, { status: 200, body: `hello /a ${new URL(http).host}` })
    assert.equal(await agent.ends('SIGTERM'), 0)
    assert.equal((await visit(http)).status, 404)
    assert.doesNotMatch(agent.output, /msg=request/)
  })

  test('lists requests in lines with --inspect on', async () => {
    await using service = await greeting()
    await using agent = spawnAgent(server, ['http', service.port, '--scheme', 'http', '--inspect', 'on'])
    const [, http = ''] = await agent.waitForOutput(/^url=(http:\S+) /m)
    assert.equal((await visit(`${http}/a`)).status, 200)
    await agent.waitForOutput(/ level=info msg=request method=GET path=\/a status=200 duration_ms=[\d.]+\n/)
  })

  test('reports why a service cannot be reached', async () => {
    await using agent = spawnAgent(server, ['http', '1', '--scheme', 'http'])
    const [, http = ''] = await agent.waitForOutput(/^url=(http:\S+) /m)
    assert.equal((await visit(http)).status, 502)
    await agent.waitForOutput(
      / level=warn msg="http:\/\/localhost:1 cannot be reached: nothing listens there \(ECONNREFUSED\)\. Start /,
    )
  })

  test('passes its options on', async () => {
    await using service = await greeting()
    const endpoint = ['--name', 'shop', '--scheme', 'http', '--basic-auth', 'me:secret word']
    const more = ['--host-header', 'rewrite', '--metadata', 'mine', '--log', 'json', '--log-level', 'debug']
    await using agent = spawnAgent(server, ['http', service.port, ...endpoint, ...more])
    const [line] = await agent.waitForOutput(/^\{"level":"info","time":"[^"]+","msg":"tunnel","url".*$/m)
    const { url } = JSON.parse(line) as { url: string }
    assert.equal(url, `http://shop.adit.localhost:${server.bound.http?.port ?? 0}`)
    assert.equal((await visit(url)).status, 401)
    const authorization = `Basic ${Buffer.from('me:secret word').toString('base64')}`
    const { body } = await visit(`${url}/b`, { authorization })
    assert.equal(body, `hello /b localhost:${service.port}`)
    await agent.waitForOutput(/"msg":"connection closed","url":"[^"]+","client":"[^"]+","bytes_in":\d+/)
    for (const each of agent.output.trim().split('\n')) assert.equal(typeof JSON.parse(each), 'object')
    // The tunnel of an agent that was killed by the test before may still be listed.
    const { body: found } = await server.api.get('/tunnels')
    const tunnel = found.tunnels.find((it: { public_url: string }) => it.public_url === url)
    assert.equal(tunnel?.metadata, 'mine')
    assert.equal(await agent.ends('SIGINT'), 130)
  })

  test('reads no requests with --inspect off', async () => {
    await using service = await greeting()
    const args = ['http', service.port, '--scheme', 'http', '--inspect', 'off', '--log-level', 'debug']
    await using agent = spawnAgent(server, args)
    const [, url = ''] = await agent.waitForOutput(/^url=(\S+) /m)
    await visit(url)
    await agent.waitForOutput(/connection closed/)
    assert.doesNotMatch(agent.output, /msg=request/)
  })

  test('ends with 5 when the name is taken', async () => {
    await using agent = spawnAgent(server, ['http', '1', '--name', 'taken'])
    await agent.waitForOutput(/^url=/m)
    const { code, stderr } = await runAdit(['http', '1', '--name', 'taken'], environmentOf(server))
    assert.equal(code, 5)
    assert.match(stderr, /^adit: The endpoint https:\/\/taken\.\S+ is already online/)
    assert.match(stderr, /ERR_ADIT_334/)
  })

  test('ends with 4 and shows what to do when the token is unknown', async () => {
    const environment = { ...environmentOf(server), ADIT_AUTHTOKEN: 'x'.repeat(49) }
    const { code, stderr } = await runAdit(['http', '1'], environment)
    assert.equal(code, 4)
    assert.match(stderr, /^adit: The authtoken .*\n {2}code ERR_ADIT_10[57]\n {2}.*add-authtoken/)
    assert.doesNotMatch(stderr, /x{20}/)
  })

  test('ends with 4 without a token', async () => {
    const { code, stderr } = await runAdit(['http', '1'], {
      ...environmentOf(server),
      ADIT_DATA_DIR: '/nonexistent',
    })
    assert.equal(code, 4)
    assert.match(stderr, /^adit: there is no authtoken to sign in with\n/)
  })

  test('does not take the gateway’s own token elsewhere', async () => {
    const environment = { ...environmentOf(server), ADIT_SERVER_ADDR: 'gateway.example:4443' }
    assert.equal((await runAdit(['http', '1'], environment)).code, 4)
  })

  test('keeps trying while the gateway is not there', async () => {
    const environment = { ADIT_SERVER_ADDR: '127.0.0.1:1', ADIT_AUTHTOKEN: 'x' }
    await using agent = spawnAgent(server, ['http', '1'], environment)
    await agent.waitForOutput(
      /level=warn msg=connecting reason=".*127\.0\.0\.1:1 cannot be reached: nothing listens there \(ECONNREFUSED\)\. Check .*" retry_in_ms=\d+\n/,
    )
    assert.equal(agent.child.exitCode, null)
    assert.equal(await agent.ends('SIGINT'), 130)
  })

  test('does not talk to a gateway that it cannot trust', async () => {
    const environment = { ADIT_DATA_DIR: '/nonexistent', ADIT_AUTHTOKEN: server.authtoken }
    const { code, stderr } = await runAdit(['http', '1'], { ...environmentOf(server), ...environment })
    assert.equal(code, 1)
    assert.match(stderr, /is not trusted[^]*--ca <file>/)
    await using agent = spawnAgent(server, ['http', '1', '--ca', join(server.dataDir, 'ca.pem')], environment)
    await agent.waitForOutput(/^url=/m)
  })
})

test('adit http file:// shows the files of a folder and lists requests', async () => {
  using folder = new Folder()
  const path = await folder.write('page.html', '<h1>hello</h1>')
  const target = `file://${dirname(path)}`
  await using agent = spawnAgent(server, ['http', target, '--scheme', 'http', '--inspect', 'on'])
  const [, url = ''] = await agent.waitForOutput(/^url=(\S+) forwards_to=file:\/\/\//m)
  assert.deepEqual(await visit(`${url}/page.html`), { status: 200, body: '<h1>hello</h1>\n' })
  assert.equal((await visit(`${url}/`)).status, 404)
  await agent.waitForOutput(/msg=request method=GET path=\/page\.html status=200 /)
})

suite('adit tcp, tls and tunnel', () => {
  test('pass bytes on', async () => {
    await using service = await echo()
    await using agent = spawnAgent(server, ['tcp', service.port])
    const [, port = ''] = await agent.waitForOutput(/^url=tcp:\/\/\S+:(\d+) forwards_to=localhost:\d+$/m)
    const socket = connect(Number(port), '127.0.0.1').end('hello')
    assert.equal(await text(socket), 'you said hello')
    assert.equal(await agent.ends('SIGTERM'), 0)

    await using again = spawnAgent(server, ['tcp', service.port, '--port', port])
    await again.waitForOutput(new RegExp(`^url=tcp://\\S+:${port} `, 'm'))
  })

  test('end TLS in the agent', async () => {
    await using service = await echo()
    using folder = new Folder()
    const { certificate, files } = await issue(folder, {
      name: 'leaf',
      extensions: ['subjectAltName=DNS:raw.adit.localhost'],
    })
    const args = ['tls', service.port, '--name', 'raw', '--crt', files.certificate, '--key']
    const wrong = await runAdit([...args, files.certificate], environmentOf(server))
    assert.equal(wrong.code, 2)
    assert.match(wrong.stderr, /certificate and key are not PEM or do not belong together/)
    await using agent = spawnAgent(server, [...args, files.key])
    await agent.waitForOutput(/^url=tls:\/\/raw\.adit\.localhost\S* forwards_to=localhost:\d+$/m)
    const place = { host: '127.0.0.1', port: server.bound.https?.port ?? 0 }
    const socket = connectTls({ ...place, servername: 'raw.adit.localhost', ca: certificate })
    socket.write('hello')
    assert.equal(await text(socket), 'you said hello')
  })

  test('give labels', async () => {
    await using agent = spawnAgent(server, ['tunnel', '8080', '--label', 'service=shop', '--label', 'zone=a'])
    await agent.waitForOutput(/^labels="service=shop,zone=a" forwards_to=http:\/\/localhost:8080$/m)
    const { body } = await server.api.get('/tunnels')
    const labels = body.tunnels.map((it: { labels: object }) => it.labels)
    assert.deepEqual(
      labels.filter((it: object) => 'zone' in it),
      [{ service: 'shop', zone: 'a' }],
    )
  })
})

suite('adit start', () => {
  const file = (port: string) => `
version: 1
metadata: the office
tunnels:
  shop:
    proto: http
    addr: ${port}
    domain: start-shop
    schemes: [http]
    response_headers:
      add: ["x-shop: yes"]
  back:
    addr: localhost:9
    labels: {service: back}
`
  test('opens the tunnels of the file that are named', async () => {
    await using service = await greeting()
    using config = configFile(file(service.port))
    await using agent = spawnAgent(server, ['start', 'shop'], config.environment)
    const [, url = ''] = await agent.waitForOutput(/^url=(\S+) /m)
    assert.match((await visit(url)).body, /^hello \//)
    assert.doesNotMatch(agent.output, /labels=/)
    const { body } = await server.api.get('/tunnel_sessions')
    assert.ok(body.tunnel_sessions.some((session: { metadata: string }) => session.metadata === 'the office'))
  })

  test('opens all of them', async () => {
    using config = configFile(file('1'))
    await using agent = spawnAgent(server, ['start', '--all', '--config', config.path])
    await agent.waitForOutput(/^url=\S+start-shop\S+ .*\nlabels=/m)
  })

  for (const [args, complaint] of [
    [[], /name the tunnels, or use --all or --none; \S+ has shop, back\n/],
    [['shop', '--all'], /name the tunnels, or use --all or --none/],
    [['none'], /there is no tunnel "none"; \S+ has shop, back\n/],
  ] as const) {
    test(`refuses ${JSON.stringify(args)}`, async () => {
      using config = configFile(file('1'))
      const { code, stderr } = await runAdit(['start', ...args], config.environment)
      assert.equal(code, 2)
      assert.match(stderr, complaint)
    })
  }
})
