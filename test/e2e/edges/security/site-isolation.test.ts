import assert from 'node:assert/strict'
import { createServer, type ServerHttp2Stream } from 'node:http2'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { World } from '../world.ts'
import { exchanged, head, secured, session } from './support.ts'

const HOST = 'shop.adit.localhost'
const SPOKEN2 = 'second.adit.localhost'
const FOREIGN = 'shop.example.test'

/** A response of the service, and what its clients get under the shared domain; undefined: nothing. */
const cases: readonly (readonly [name: string, sent: string, got: string | undefined])[] = [
  ['set-cookie', 'a=1; Path=/; Domain=adit.localhost; Secure', 'a=1; Path=/; Secure'],
  ['set-cookie', 'b=1; DOMAIN = .Adit.Localhost', 'b=1'],
  ['set-cookie', 'c=1;domain=localhost;HttpOnly', 'c=1;HttpOnly'],
  ['set-cookie', 'd=1; domain=adit.localhost; Domain=adit.localhost', 'd=1'],
  ['set-cookie', 'e=1; Domain="adit.localhost"', 'e=1'],
  ['set-cookie', 'f=1; Domain', 'f=1'],
  ['set-cookie', 'domain=adit.localhost; Path=/', 'domain=adit.localhost; Path=/'],
  ['set-cookie', 'h=1; Path=/domain=x; Max-Age=5', 'h=1; Path=/domain=x; Max-Age=5'],
  ['clear-site-data', '"cookies", "storage"', '"storage"'],
  ['clear-site-data', '"*"', undefined],
  ['clear-site-data', '"cache", "executionContexts"', '"cache", "executionContexts"'],
  ['strict-transport-security', 'max-age=5; includeSubDomains; preload', 'max-age=5; preload'],
  ['strict-transport-security', 'max-age=5', 'max-age=5'],
  ['nel', '{"report_to":"x","max_age":5,"include_subdomains":true}', undefined],
  ['nel', '{"report_to":"x","max_age":5}', '{"report_to":"x","max_age":5}'],
  ['report-to', '{"group":"x","max_age":5,"include\\u005fsubdomains":true,"endpoints":[]}', undefined],
  ['public-key-pins', 'max-age=5; includeSubDomains', undefined],
  ['origin-agent-cluster', '?1', '?1'],
]

const lines = cases.map(([name, sent]) => [name, sent] as const)
const confined = cases.flatMap(([name, , got]) => (got === undefined ? [] : [[name, got] as const]))
const names = new Set(cases.map(([name]) => name))

/** What clients get: the fields of the test, in the order of the service. */
type Shown = readonly (readonly [string, string])[]

const shown = (text: string): Shown =>
  text
    .slice(0, text.indexOf('\r\n\r\n'))
    .split('\r\n')
    .map(line => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)] as const)
    .filter(([name]) => names.has(name))

class Site {
  readonly world: World
  readonly #second = createServer()

  private constructor(world: World) {
    this.world = world
  }

  /** The same service under the shared domain, in both versions of HTTP, and under a domain of its own. */
  static async start(settings: Record<string, string>): Promise<Site> {
    const site = new Site(await World.start(settings))
    const { world } = site
    const first = await world.service((_, response) => {
      response.writeEarlyHints({
        link: '</a.css>; rel=preload',
        'set-cookie': 'hint=1; Domain=adit.localhost',
      })
      response.writeHead(200, lines.flat()).end('served')
    })
    site.#second.on('stream', (stream: ServerHttp2Stream) => {
      stream.on('error', () => undefined)
      stream.respond([':status', '200', ...lines.flat()].map(String))
      stream.end('served')
    })
    await once(site.#second.listen(0, '127.0.0.1'), 'listening')
    const { port } = site.#second.address() as AddressInfo
    const agent = await world.agent()
    await agent.listen({ proto: 'https', domain: HOST, forwardTo: first })
    await agent.listen({ proto: 'https', domain: SPOKEN2, forwardTo: port, upstreamProtocol: 'http2' })
    const backend = await world.make('/backends/static', { address: `127.0.0.1:${first}` })
    await world.route(await world.edge([FOREIGN]), '/', backend.id)
    return site
  }

  /** All that a client of HTTP/1 gets. */
  async answer(host: string): Promise<string> {
    const bytes = await exchanged(await secured(this.world, { servername: host }), head('/', host))
    return bytes.toString('latin1')
  }

  /** The fields of the last head. */
  async fields(host: string): Promise<Shown> {
    const text = await this.answer(host)
    return shown(text.slice(text.indexOf('HTTP/1.1 200')))
  }

  /** The same over HTTP/2. */
  async fields2(host: string): Promise<Shown> {
    using made = await session(this.world, host)
    const stream = made.request({ ':path': '/', ':authority': host })
    const [, , raw] = (await once(stream, 'response')) as [object, number, string[]]
    stream.resume()
    const pairs = raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as const] : []))
    return pairs.filter(([name]) => names.has(name))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]()
    this.#second.close()
  }
}

suite('response headers of services under the shared domain', () => {
  let site: Site
  before(async () => {
    site = await Site.start({})
  })
  after(() => site[Symbol.asyncDispose]())

  for (const host of [HOST, SPOKEN2]) {
    test(`are kept to their own host (${host})`, async () => {
      assert.deepEqual(await site.fields(host), confined)
      assert.deepEqual(await site.fields2(host), confined)
    })
  }

  test('are kept to their own host in interim responses, too', async () => {
    const text = await site.answer(HOST)
    assert.match(text, /^HTTP\/1\.1 103 /)
    assert.match(text, /^set-cookie: hint=1\r$/im)
  })

  test('may name their own host as the domain of a cookie', async () => {
    const port = await site.world.service((_, response) => {
      const own = 'own.adit.localhost'
      response.setHeader('set-cookie', [`a=1; Domain=${own}`, `b=1; domain=.${own.toUpperCase()}; Path=/`])
      response.setHeader('set-cookie2', 'kept').end()
    })
    const agent = await site.world.agent()
    await agent.listen({ proto: 'https', domain: 'own.adit.localhost', forwardTo: port })
    const { headers } = await site.world.ask('own.adit.localhost')
    assert.deepEqual(headers['set-cookie'], [
      'a=1; Domain=own.adit.localhost',
      'b=1; domain=.OWN.ADIT.LOCALHOST; Path=/',
    ])
  })

  test('are kept to their own host below another name, which may have another owner', async () => {
    const port = await site.world.service((_, response) => {
      response.setHeader('set-cookie', 'a=1; Domain=own.adit.localhost').end()
    })
    const agent = await site.world.agent()
    await agent.listen({ proto: 'https', domain: 'sub.own.adit.localhost', forwardTo: port })
    assert.deepEqual((await site.world.ask('sub.own.adit.localhost')).headers['set-cookie'], ['a=1'])
  })

  test('are kept to their own host also where an agent adds it', async () => {
    const port = await site.world.service((_, response) => response.end())
    const agent = await site.world.agent()
    const add = ['set-cookie: a=1; Domain=adit.localhost']
    await agent.listen({
      proto: 'https',
      domain: 'added.adit.localhost',
      forwardTo: port,
      responseHeaders: { add },
    })
    assert.deepEqual((await site.world.ask('added.adit.localhost')).headers['set-cookie'], ['a=1'])
  })

  test('are forwarded unchanged under other domains', async () => {
    assert.deepEqual(await site.fields(FOREIGN), lines)
    assert.deepEqual(await site.fields2(FOREIGN), lines)
  })
})

test('with isolate_hosts off, all response headers are forwarded unchanged', async () => {
  await using site = await Site.start({ isolate_hosts: 'off' })
  assert.deepEqual(await site.fields(HOST), lines)
  assert.deepEqual(await site.fields2(HOST), lines)
})
