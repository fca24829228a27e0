import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, suite, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { connect } from '#agent/index.ts'
import { newId } from '#base/ids.ts'
import { dial, disposable, optionsFor, tcp, visit, web, type Service } from '../../agent/support.ts'
import { World } from '../../e2e/edges/world.ts'
import { assertRefused } from '../../support/each-store.ts'
import { newMember, type Member } from '../../support/members.ts'
import type { Answer } from '../../support/server.ts'
import { until } from '../../support/until.ts'

interface Series {
  readonly name: string
  readonly id: string | null
  readonly owner_id: string | null
  readonly requests: number
  readonly errors: number
  readonly bytes_in: number
  readonly bytes_out: number
  readonly p50_ms: number | null
  readonly p95_ms: number | null
  readonly p99_ms: number | null
  readonly last_at: string | null
  readonly points: { readonly start: string[]; readonly requests: number[] } | null
}

suite('usage of endpoints and credentials', () => {
  let world: World
  let service: Service
  let echo: Service
  let alice: Member
  let credential: { readonly id: string; readonly token: string }

  const usage = async (query = '', token?: string): Promise<Answer['body']> => {
    const answer = await world.server.api.get(`/usage?${query}`, token === undefined ? {} : { token })
    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    return answer.body
  }
  /** The series of a name, once it has as many requests. */
  const counted = (name: string, requests: number, query = ''): Promise<Series> =>
    until(async () =>
      (await usage(query)).series.find((each: Series) => each.name === name && each.requests === requests),
    )
  const agentOfAlice = async () =>
    disposable(await connect({ ...optionsFor(world.server), authtoken: credential.token }))

  before(async () => {
    world = await World.start({ tcp_ports: '20000-40000', metrics_endpoints: '100' })
    service = await web((request, response) => {
      if (request.url === '/broken') response.statusCode = 500
      if (request.url === '/missing') response.statusCode = 404
      request.resume().once('end', () => response.end('0123456789'))
    })
    echo = await tcp(socket => socket.pipe(socket))
    alice = await newMember(world.server.api)
    credential = (await world.server.api.post('/credentials', {}, { token: alice.token })).body
  })
  after(async () => {
    await world[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
    await echo[Symbol.asyncDispose]()
  })

  test('is empty before the first request', async () => {
    const { series, total, by, window, resolution, from, until: now } = await usage()
    assert.deepEqual([series, total], [[], { requests: 0, errors: 0, bytes_in: 0, bytes_out: 0 }])
    assert.deepEqual([by, window, resolution], ['endpoint', '24h', 'minute'])
    const hours = (Date.parse(now) - Date.parse(from)) / 3_600_000
    assert.ok(hours >= 24 && hours < 25, `${from} to ${now}`)
  })

  test('has the requests of a tunnel by its URL and by the credential of its agent', async () => {
    await using agent = await agentOfAlice()
    const tunnel = await agent.listen({ forwardTo: service.port })
    const ca = String(world.ca)
    for (const path of ['/', '/broken', '/missing'])
      await visit(tunnel.url + path, { ca, method: 'POST', body: 'four' })
    const endpoint = await counted(tunnel.url, 3)
    const { requests, errors, bytes_in, bytes_out, id, owner_id } = endpoint
    assert.deepEqual([requests, errors, bytes_in, bytes_out], [3, 1, 12, 30], 'a 404 is no error')
    assert.deepEqual([id, owner_id], [null, alice.user.id])
    const { p50_ms: p50, p95_ms: p95, p99_ms: p99 } = endpoint
    assert.ok(p50 !== null && p95 !== null && p99 !== null && p50 <= p95 && p95 <= p99)
    assert.equal(
      endpoint.points?.requests.reduce((sum, each) => sum + each, 0),
      3,
    )
    for (const start of endpoint.points?.start ?? []) assert.match(start, /:00Z$/)
    const byCredential = await counted(credential.id, 3, 'by=credential')
    assert.deepEqual([byCredential.errors, byCredential.bytes_out, byCredential.id], [1, 30, credential.id])
    const metrics = await (await fetch(`${world.server.api.url}/metrics`)).text()
    for (const sample of [
      `adit_endpoint_requests_total{endpoint="${tunnel.url}"} 3`,
      `adit_endpoint_errors_total{endpoint="${tunnel.url}"} 1`,
      `adit_endpoint_bytes_total{endpoint="${tunnel.url}",dir="in"} 12`,
    ])
      assert.ok(metrics.includes(`\n${sample}\n`), sample)
  })

  test('has the requests of an edge by its name, and those that fail without a tunnel', async () => {
    const edge = await world.edge(['usage.example.test'])
    await world.route(edge, '/', await world.fixedResponse('hello'))
    await world.route(
      edge,
      '/gone',
      (await world.make('/backends/tunnel_group', { labels: { no: 'one' } })).id,
    )
    await world.ask('usage.example.test/')
    await world.ask('usage.example.test/gone')
    const series = await counted('https://usage.example.test', 2, `endpoint=${edge}`)
    assert.deepEqual([series.id, series.errors], [edge, 1])
    const { total } = await usage(`endpoint=${edge}`)
    assert.equal(total.requests, 2)
  })

  test('has connections and bytes of TCP, without response times', async () => {
    await using agent = await agentOfAlice()
    const tunnel = await agent.listen({ proto: 'tcp', forwardTo: echo.port })
    for (const text of ['one', 'three']) {
      const socket = await dial(tunnel.url)
      socket.end(text)
      await once(socket.resume(), 'end')
    }
    const series = await counted(tunnel.url, 2)
    const { errors, bytes_in, bytes_out, p50_ms, p95_ms, p99_ms } = series
    assert.deepEqual([errors, bytes_in, bytes_out, p50_ms, p95_ms, p99_ms], [0, 8, 8, null, null, null])
    await counted(credential.id, 5, 'by=credential')
  })

  test('has connections and bytes of TLS', async () => {
    await world.make('/reserved_domains', { domain: 'tls.example.test' })
    const backend = await world.make('/backends/static', { address: `127.0.0.1:${echo.port}` })
    const edge = await world.make('/edges/tls', {
      hostports: ['tls.example.test:443'],
      backend: { backend_id: backend.id },
      tls_termination: { terminate_at: 'edge' },
    })
    const { port = 0 } = world.server.bound.https ?? {}
    const options = { host: '127.0.0.1', port, ca: world.ca, servername: 'tls.example.test' }
    const socket = connectTls(options, () => socket.write('seven..'))
    await once(socket, 'data')
    socket.destroy()
    const series = await counted('tls://tls.example.test', 1)
    assert.deepEqual([series.id, series.bytes_in, series.bytes_out], [edge.id, 7, 7])
  })

  test('of others is hidden from members', async () => {
    const agent = await world.agent()
    const tunnel = await agent.listen({ forwardTo: service.port })
    await visit(tunnel.url, { ca: String(world.ca) })
    await counted(tunnel.url, 1)
    const own = await usage('', alice.token)
    assert.ok(own.series.length > 0)
    for (const series of own.series) assert.equal(series.owner_id, alice.user.id, series.name)
    assert.equal(own.total.requests, 5)
    for (const query of [`endpoint=${encodeURIComponent(tunnel.url)}`, 'by=credential&limit=100']) {
      const { series } = await usage(query, alice.token)
      const foreign = series.filter((each: Series) => each.owner_id !== alice.user.id)
      assert.deepEqual(foreign, [], query)
    }
    const stranger = await newMember(world.server.api)
    assert.deepEqual((await usage('', stranger.token)).series, [])
  })

  test('is the same in every window, with the resolution that it has', async () => {
    const resolutions = { '1h': 'minute', '24h': 'minute', '30d': 'hour', '1y': 'day' }
    const expected = (await usage('window=24h')).total
    for (const [window, resolution] of Object.entries(resolutions)) {
      const found = await usage(`window=${window}`)
      assert.deepEqual([found.resolution, found.total], [resolution, expected], window)
      const points = found.series.flatMap((each: Series) => each.points?.requests ?? [])
      assert.equal(
        points.reduce((sum: number, each: number) => sum + each, 0),
        expected.requests,
        window,
      )
    }
  })

  test('can be reduced to the totals of the busiest', async () => {
    const all: Series[] = (await usage('limit=2')).series
    const { series } = await usage('points=false&limit=2')
    assert.equal(series.length, 2)
    assert.ok(series[0].requests >= series[1].requests)
    assert.deepEqual(
      series.map((each: Series) => each.points),
      [null, null],
    )
    assert.deepEqual(
      series.map((each: Series) => each.last_at),
      all.map(({ points }) => points?.start.at(-1)),
    )
  })

  test('has the requests to the API by key, also reads, and members see those with their own', async () => {
    const { api } = world.server
    const { body: key } = await api.post('/api_keys', { description: 'reader' }, { token: alice.token })
    const begun = Date.now()
    for (let at = 0; at < 3; at++)
      assert.equal((await api.get('/ip_policies', { token: String(key.token) })).status, 200)
    assert.equal((await api.get('/ip_policies', { token: `${key.token}x` })).status, 401)
    const { id, owner_id: owner, points } = await counted('reader', 3, `api_key_id=${key.id}`)
    assert.deepEqual([id, owner], [key.id, alice.user.id])
    assert.ok(Date.parse(points?.start.at(-1) ?? '') > begun - 60_000)
    const stranger = await newMember(api)
    assert.deepEqual((await usage(`api_key_id=${key.id}`, stranger.token)).series, [])
    const unused = Array.from({ length: 99 }, () => newId('ak'))
    const { series: named } = await usage(`api_key_id=${[...unused, key.id].join(',')}&limit=100`)
    assert.deepEqual(
      named.map((each: Series) => [each.id, each.requests]),
      [[key.id, 3]],
    )
    await assertRefused(api, { method: 'GET', path: '/usage?api_key_id=ak_1,', code: 90220 })
    const { series } = await usage('by=api_key', stranger.token)
    for (const each of series) assert.equal(each.owner_id, stranger.user.id)
  })

  const refusals: Readonly<Record<string, { readonly code: number; readonly says: RegExp }>> = {
    'window=2h': { code: 90311, says: /"window": "2h" is not allowed\. Allowed: 1h, 24h, 30d, 1y\./ },
    'by=owner': { code: 90311, says: /Allowed: endpoint, credential, api_key\./ },
    'limit=101': { code: 90311, says: /Allowed: 1 to 100\./ },
    'points=no': { code: 90311, says: /Allowed: true, false\./ },
    'by=endpoint&credential_id=cr_1': {
      code: 90400,
      says: /"credential_id" cannot be used with by=endpoint/,
    },
    'credential_id=cr_1&endpoint=x': { code: 90400, says: /"endpoint" cannot be used with by=credential/ },
    'by=api_key&endpoint=x': { code: 90400, says: /"endpoint" cannot be used with by=api_key/ },
    'since=now': { code: 231, says: /since/ },
  }
  for (const [query, refused] of Object.entries(refusals))
    test(`is not shown for ${query}`, async () => {
      const path = `/usage?${query}`
      await assertRefused(world.server.api, { method: 'GET', path, ...refused }, ['/edges/https'])
    })
})
