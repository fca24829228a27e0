import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { World } from '../world.ts'
import {
  fieldsIn,
  head,
  readAnswer,
  Recorder,
  secured,
  exchanged,
  sent,
  sentPlain,
  session,
  streamed,
} from './support.ts'

const HOST = 'a.example.test'
const CLAIM = 'claimed-by-client'

/** Fields that only the gateway may set, about clients or its own responses. */
const ours = [
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-server',
  'x-forwarded-uri',
  'x-forwarded-user',
  'forwarded',
  'x-real-ip',
  'adit-auth-user-id',
  'adit-auth-user-email',
  'adit-auth-oauth-access-token',
  'adit-auth-anything',
  'ngrok-auth-user-id',
  'ngrok-auth-user-name',
  'ngrok-auth-oauth-refresh-token',
  'ngrok-oauth-access-token',
  'adit-mtls-subject-cn',
  'adit-mtls-email-addresses',
  'ngrok-mtls-subject-cn',
  'ngrok-mtls-serial-number',
  'adit-request-id',
  'adit-error-code',
  'ngrok-error-code',
  'adit-client-cert',
  'adit-trace',
  'adit-anything-else',
  'ngrok-request-id',
  'ngrok-client-cert',
  'true-client-ip',
  'client-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-forwarded-for',
  'cf-connecting-ip',
  'fastly-client-ip',
  'x-envoy-external-address',
  'x-azure-clientip',
  'wl-proxy-client-ip',
  'x-original-url',
  'x-original-host',
  'x-rewrite-url',
  'x-scheme',
  'front-end-https',
  'proxy',
]

const capitals = (name: string): string => name.replaceAll(/(?:^|-)\w/g, letters => letters.toUpperCase())
const mixed = (name: string): string =>
  Array.from(name, (letter, at) => (at % 2 === 0 ? letter.toUpperCase() : letter)).join('')

/** Spellings that reach the service without the field, and are refused nowhere. */
const dropped = (name: string): string[] => [
  name,
  name.toUpperCase(),
  capitals(name),
  mixed(name),
  // Services that make variables of names take all of these for the same.
  name.replaceAll('-', '.'),
  name.replaceAll('-', '~'),
  name.replace('-', '!'),
]

/** Fields with an underscore are always removed. */
const underscored = (name: string): string[] =>
  name.includes('-')
    ? [name.replaceAll('-', '_'), name.replace('-', '_'), capitals(name).replaceAll('-', '_')]
    : []

const claims = (fields: readonly (readonly [string, string])[]): string[] =>
  fields.filter(([, value]) => value.includes(CLAIM)).map(([name]) => name)

/** Every way to the service: by edge, by an agent's tunnel, by plain HTTP. */
suite('a field that only the gateway sets', () => {
  let world: World
  let service: Recorder
  /** Sends a request in some way, and answers with its status. */
  const ways = new Map<string, (lines: string, body?: string) => Promise<number>>()

  before(async () => {
    world = await World.start()
    service = await Recorder.start('plain')
    const backend = await world.make('/backends/static', { address: `127.0.0.1:${service.port}` })
    await world.route(await world.edge([HOST]), '/', backend.id)
    const agent = await world.agent()
    const forwardTo = `127.0.0.1:${service.port}`
    await agent.listen({ proto: 'https', domain: 't.adit.localhost', forwardTo })
    await agent.listen({ proto: 'http', domain: 'p.adit.localhost', forwardTo })
    const method = (body?: string): string => (body === undefined ? 'GET' : 'POST')
    for (const name of [HOST, 't.adit.localhost'])
      ways.set(
        name,
        async (lines, body) =>
          (await sent(world, name, head('/', name, lines, method(body)) + (body ?? ''))).status,
      )
    ways.set('p.adit.localhost', async (lines, body) => {
      const bytes = head('/', 'p.adit.localhost', lines, method(body)) + (body ?? '')
      return readAnswer(await sentPlain(world.server.bound.http?.port ?? 0, bytes)).status
    })
  })
  after(async () => {
    await world[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
  })

  for (const way of [HOST, 't.adit.localhost', 'p.adit.localhost']) {
    test(`SEC-07 never has the value that a client of ${way} sends, in any spelling, once or twice`, async () => {
      const lines = ours.flatMap(dropped).map(name => `${name}: ${CLAIM}\r\n`)
      for (let at = 0; at < lines.length; at += 40) {
        const some = lines.slice(at, at + 40).join('')
        assert.equal(await ways.get(way)?.(`X-Before: 1\r\n${some}${some}X-After: 2\r\n`), 200)
        const [request = ''] = service.taken()
        assert.deepEqual(claims(fieldsIn(request)), [])
        const kept = new Map(fieldsIn(request))
        assert.deepEqual([kept.get('x-before'), kept.get('x-after')], ['1', '2'])
        for (const name of ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'])
          assert.equal(fieldsIn(request).filter(([each]) => each === name).length, 1, name)
      }
    })

    test(`SEC-07 with an underscore in its name is rejected at ${way}`, async () => {
      for (const name of ours.flatMap(underscored)) {
        assert.equal(await ways.get(way)?.(`${name}: ${CLAIM}\r\n`), 400, name)
        assert.deepEqual(service.taken(), [], name)
      }
    })
  }

  test('SEC-08 cannot be removed by naming it in Connection', async () => {
    for (const name of ours.flatMap(each => [mixed(each), each.replaceAll('-', '_')])) {
      assert.equal(await ways.get(HOST)?.(`${capitals(name)}: x\r\nConnection: ${name}\r\n`), 400, name)
      assert.deepEqual(service.taken(), [], name)
    }
    assert.equal(await ways.get(HOST)?.('Connection: x-mine\r\nX-Mine: 1\r\n'), 200)
    const names = fieldsIn(service.taken()[0] ?? '').map(([name]) => name)
    assert.ok(names.includes('x-forwarded-for') && !names.includes('x-mine'))
  })

  test('SEC-08 is removed from trailers', async () => {
    const chunks = (trailer: string): string => `1\r\na\r\n0\r\n${trailer}\r\n`
    const coding = 'Transfer-Encoding: chunked\r\nTrailer: x-sum\r\n'
    const spelled = ours.flatMap(name => [
      capitals(name),
      name.replaceAll('-', '.'),
      name.replaceAll('-', '_'),
    ])
    for (const name of spelled) {
      await ways.get(HOST)?.(coding, chunks(`X-Sum: 1\r\n${name}: ${CLAIM}\r\n`))
      assert.ok(!service.taken().some(request => request.includes(CLAIM)), name)
    }
    assert.equal(await ways.get(HOST)?.(coding, chunks('X-Sum: 1\r\n')), 200)
    assert.match(service.taken()[0] ?? '', /\r\n0\r\nX-Sum: 1\r\n\r\n$/)
  })

  test('SEC-07 SEC-08 is removed over HTTP/2 too, in heads and trailers', async () => {
    using made = await session(world, HOST)
    const pairs = { ':path': '/', ':authority': HOST, ':method': 'POST' }
    for (const name of ours.flatMap(each => [each, each.replaceAll('-', '.'), each.replaceAll('-', '~')])) {
      const twice = { ...pairs, [name]: [CLAIM, CLAIM], 'x-after': '2' }
      const answer = await streamed(made, twice, { content: 'a', trailers: { [name]: CLAIM, 'x-sum': '1' } })
      assert.equal(answer.status, 200, name)
      const [request = ''] = service.taken()
      assert.ok(!request.includes(CLAIM), `${name}: ${request}`)
      assert.equal(new Map(fieldsIn(request)).get('x-after'), '2')
      assert.match(request, /\r\n0\r\nx-sum: 1\r\n\r\n$/)
    }
    for (const name of ours.flatMap(underscored).map(each => each.toLowerCase()))
      for (const type of ['text/plain', 'application/grpc']) {
        const { status } = await streamed(made, { ...pairs, 'content-type': type, [name]: CLAIM })
        assert.equal(status, 400, `${name} ${type}`)
        assert.deepEqual(service.taken(), [], name)
      }
  })

  test('SEC-07 never has the value that a service sends, in heads and trailers', async () => {
    const marks = {
      'adit-request-id': CLAIM,
      'adit-error-code': CLAIM,
      'ngrok-error-code': CLAIM,
      'adit-trace': CLAIM,
      'Adit.Trace': CLAIM,
      adit_trace: CLAIM,
      'ngrok-trace-id': CLAIM,
    }
    const trailing = 'TE: trailers\r\n'
    const second = createServer()
    second.on('stream', (stream: ServerHttp2Stream) => {
      stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '1', ...marks }))
      stream.respond({ ':status': 200, 'x-kept': '1', ...marks }, { waitForTrailers: true })
      stream.end('served')
    })
    await once(second.listen(0, '127.0.0.1'), 'listening')
    const { port } = second.address() as AddressInfo
    const agent = await world.agent()
    const domain = 'h2.adit.localhost'
    await agent.listen({ proto: 'https', domain, forwardTo: port, upstreamProtocol: 'http2' })
    const first = await world.static((_, response) =>
      response.writeHead(200, { 'x-kept': '1', 'adit-operation-id': 'op_1', ...marks }).end('served'),
    )
    await world.route(await world.edge(['h1.example.test']), '/', first)
    for (const host of [domain, 'h1.example.test']) {
      const bytes = await exchanged(await secured(world, { servername: host }), head('/', host, trailing))
      const text = bytes.toString('latin1')
      assert.match(text, /^HTTP\/1\.1 200 [^]*\r\nx-kept: 1\r\n[^]*served/)
      assert.ok(!text.includes(CLAIM), text)
      assert.equal(text.match(/\r\nadit-request-id: rq_/gi)?.length, 1)
    }
    second.close()
  })

  test('SEC-07 is not confused with similar names, which are forwarded', async () => {
    const names = [
      'x-adit-auth-user-id',
      'adit',
      'aditauth',
      'ngrok-skip-browser-warning',
      'ngrok-version',
      'adit-version',
      'x-forward',
      'x-request-id',
      'traceparent',
      'x-proxy',
      'proxy-authenticate',
      'via',
    ]
    assert.equal(await ways.get(HOST)?.(names.map(name => `${name}: ${CLAIM}\r\n`).join('')), 200)
    assert.deepEqual(claims(fieldsIn(service.taken()[0] ?? '')), names)
  })
})
