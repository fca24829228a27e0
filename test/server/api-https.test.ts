import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { request, type RequestOptions } from 'node:https'
import { connect } from 'node:http2'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { after, before, suite, test } from 'node:test'
import { caOf, signIn, web } from '../agent/support.ts'
import { tokenIn } from '../support/dashboard.ts'
import { createResource } from '../support/each-store.ts'
import { registerSecret } from '../support/secrets.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { workerCounts } from '../support/workers.ts'

const DOMAIN = 'adit.localhost'

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

interface SendOptions extends Omit<RequestOptions, 'headers'> {
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A client of the HTTPS listener that trusts only the CA of the server. */
class Client {
  readonly #server: TestServer
  readonly #ca: string
  readonly port: number

  constructor(server: TestServer) {
    this.#server = server
    this.#ca = readFileSync(caOf(server), 'utf8')
    this.port = server.bound.https?.port ?? 0
  }

  url = (label: string): string => `https://${label}.${DOMAIN}:${this.port}`

  async send(label: string, path: string, options: SendOptions = {}): Promise<Reply> {
    const host = `${label}.${DOMAIN}`
    const { body, headers, ...rest } = options
    const sent = request({
      host: '127.0.0.1',
      port: this.port,
      path,
      ca: this.#ca,
      servername: host,
      agent: false,
      headers: {
        host: `${host}:${this.port}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...rest,
    })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    const [response] = await once(sent, 'response')
    return { status: response.statusCode, headers: response.headers, body: await text(response) }
  }

  get key(): Record<string, string> {
    return { authorization: `Bearer ${this.#server.api.token}` }
  }

  /** The headers of a page of the dashboard. */
  own = (): Record<string, string> => ({ origin: this.url('dashboard'), 'sec-fetch-site': 'same-origin' })

  http2(): ReturnType<typeof connect> {
    return connect(`https://127.0.0.1:${this.port}`, { ca: this.#ca, servername: `api.${DOMAIN}` })
  }
}

for (const workers of workerCounts)
  suite(`the API on the HTTPS listener, workers: ${workers}`, () => {
    let server: TestServer
    let client: Client
    before(async () => {
      server = await startServer({ api_https: 'on', workers })
      client = new Client(server)
    })
    after(() => server[Symbol.asyncDispose]())

    test('serves API keys at api.DOMAIN, over HTTP/1.1 and HTTP/2, with URIs of that name', async () => {
      const answer = await client.send('api', '/ip_policies', {
        method: 'POST',
        headers: client.key,
        body: { description: 'over TLS' },
      })
      assert.equal(answer.status, 201, answer.body)
      const { id, uri } = JSON.parse(answer.body)
      assert.equal(uri, `${client.url('api')}/ip_policies/${id}`)

      const session = client.http2()
      const stream = session.request({
        ':path': `/ip_policies/${id}`,
        ':authority': `api.${DOMAIN}:${client.port}`,
        ...client.key,
      })
      const [head] = await once(stream, 'response')
      assert.equal(head[':status'], 200)
      assert.equal(JSON.parse(await text(stream)).description, 'over TLS')
      session.close()
      assert.equal((await client.send('api', '/ip_policies')).status, 401)
    })

    test('SEC-hsts: lets browsers use these names over TLS only, in every response', async () => {
      const html = { accept: 'text/html' }
      for (const [label, path, headers, status] of [
        ['api', '/self', client.key, 200],
        ['api', '/self', {}, 401],
        ['api', '/nothing', client.key, 404],
        ['api', '/dashboard', html, 302],
        ['dashboard', '/dashboard', html, 200],
        ['dashboard', '/dashboard/session', {}, 401],
      ] as const) {
        const answer = await client.send(label, path, { headers })
        assert.equal(answer.status, status, `${label} ${path}`)
        assert.equal(answer.headers['strict-transport-security'], 'max-age=31536000')
      }
    })

    test('sends browsers to dashboard.DOMAIN, and sets cookies that only that host can have set', async () => {
      const html = { accept: 'text/html' }
      const moved = await client.send('api', '/dashboard/traffic', { headers: html })
      assert.equal(moved.status, 302)
      assert.equal(moved.headers['location'], `${client.url('dashboard')}/dashboard/traffic`)
      const link = await client.send('api', '/dashboard/link', { method: 'POST', headers: client.key })
      const { url } = JSON.parse(link.body)
      assert.ok(url.startsWith(`${client.url('dashboard')}/dashboard/login#`), url)

      const signed = await client.send('dashboard', '/dashboard/login', {
        method: 'POST',
        headers: client.own(),
        body: { token: tokenIn(url) },
      })
      assert.equal(signed.status, 200, signed.body)
      const [cookie = ''] = signed.headers['set-cookie'] ?? []
      assert.match(cookie, /^__Host-adit_session=[^;]+; Path=\/; .*HttpOnly; SameSite=Strict; Secure$/)
      const pair = cookie.split(';')[0] ?? ''
      registerSecret(pair.slice(pair.indexOf('=') + 1))
      const self = await client.send('dashboard', '/self', { headers: { cookie: pair, ...client.own() } })
      assert.equal(self.status, 200, self.body)
      const foreign = { cookie: pair, origin: `https://evil.${DOMAIN}`, 'sec-fetch-site': 'same-site' }
      assert.equal((await client.send('dashboard', '/self', { headers: foreign })).status, 403)
    })

    test('shows metrics and readiness only to admins', async () => {
      for (const path of ['/metrics', '/readyz']) {
        assert.equal((await client.send('api', path)).status, 401, path)
        assert.equal((await client.send('api', path, { headers: client.key })).status, 200, path)
      }
    })

    test('answers no other host of the connection, and keeps its requests out of the request log', async () => {
      const misdirected = await client.send('api', '/self', {
        servername: `other.${DOMAIN}`,
        headers: client.key,
      })
      assert.equal(misdirected.status, 421)
      const { requests } = (await server.api.get('/requests')).body
      assert.deepEqual(
        requests.filter((each: { status: number }) => each.status !== 421),
        [],
      )
    })

    test('keeps its names from agents and edges, also by a wildcard', async () => {
      await using service = await web((_request, response) => response.end('the service'))
      await using agent = await signIn(server)
      for (const label of ['api', 'dashboard', 'x.dashboard']) {
        const name = `${label}.${DOMAIN}`
        await assert.rejects(agent.listen({ proto: 'http', domain: name, forwardTo: service.port }), label)
        assert.equal((await server.api.post('/reserved_domains', { domain: name })).status, 400, label)
      }
      assert.equal((await server.api.post('/reserved_domains', { domain: `*.${DOMAIN}` })).status, 400)
      assert.equal((await client.send('api', '/self', { headers: client.key })).status, 200)
    })
  })

suite('restrictions of the API on the HTTPS listener', () => {
  test('of type api and dashboard apply, and those of endpoints do not', async () => {
    await using server = await startServer({ api_https: 'on' })
    const client = new Client(server)
    const policyOf = async (...ranges: string[]): Promise<string> => {
      const { id } = await createResource(server.api, '/ip_policies', {})
      for (const cidr of ranges)
        await createResource(server.api, '/ip_policy_rules', { ip_policy_id: id, cidr, action: 'allow' })
      return id
    }
    const nowhere = await policyOf('192.0.2.0/24')
    await createResource(server.api, '/ip_restrictions', {
      type: 'endpoints',
      enforced: true,
      ip_policy_ids: [nowhere],
    })
    assert.equal((await client.send('api', '/self', { headers: client.key })).status, 200)
    assert.equal((await client.send('dashboard', '/dashboard')).status, 200)

    const here = await policyOf('127.0.0.1/32')
    await createResource(server.api, '/ip_restrictions', {
      type: 'dashboard',
      enforced: true,
      ip_policy_ids: [here],
    })
    await createResource(server.api, '/ip_restrictions', {
      type: 'api',
      enforced: true,
      ip_policy_ids: [here],
    })
    const elsewhere = { localAddress: '127.0.0.2' }
    assert.equal((await client.send('dashboard', '/dashboard')).status, 200)
    assert.equal((await client.send('dashboard', '/dashboard', elsewhere)).status, 403)
    assert.equal((await client.send('api', '/self', { headers: client.key })).status, 200)
    // The address is that of the connection, whatever the headers say.
    const headers = { ...client.key, 'x-forwarded-for': '127.0.0.1', forwarded: 'for=127.0.0.1' }
    assert.equal((await client.send('api', '/self', { headers, ...elsewhere })).status, 403)
  })

  test('are off by default: the names are not served', async () => {
    await using server = await startServer()
    const client = new Client(server)
    for (const label of ['api', 'dashboard']) assert.equal((await client.send(label, '/')).status, 404)
  })
})
