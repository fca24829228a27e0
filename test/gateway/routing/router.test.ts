import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { newId } from '#base/ids.ts'
import { Routes } from '#gateway/routing/routes.ts'
import { group, httpsEdge, route, startRouter, toBackend, visit } from './support.ts'
import { until } from '../../support/until.ts'

suite('a tunnel', () => {
  test('serves its name and no other', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    const { Id } = await agent.bind('https', { Domain: 'a' })
    const found = await visit(plan.router, 'a.adit.localhost/x?y')
    assert.deepEqual([found.status, found.text], [200, `${Id} /x?y`])
    const missing = await visit(plan.router, 'b.adit.localhost/')
    assert.deepEqual([missing.status, missing.code], [404, 'ERR_ADIT_3200'])
  })

  test('is gone when it was unbound or its agent has disconnected', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    const first = await agent.bind('https', { Domain: 'a' })
    await agent.bind('https', { Domain: 'b' })
    assert.equal((await visit(plan.router, 'a.adit.localhost/')).status, 200)
    await agent.unbind(first.Id)
    assert.equal((await visit(plan.router, 'a.adit.localhost/')).status, 404)
    agent.drop()
    await until(() => plan.gateway.directory.tunnels.size === 0, { what: 'it has gone' })
    assert.equal((await visit(plan.router, 'b.adit.localhost/')).status, 503)
  })

  test('for https is named to clients of plain HTTP, with the right port', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    await agent.bind('https', { Domain: 'a' })
    const moved = await visit(plan.router, 'a.adit.localhost/x/y?z', { scheme: 'http' })
    assert.deepEqual([moved.status, moved.location], [308, 'https://a.adit.localhost:8443/x/y?z'])
    assert.equal((await visit(plan.router, 'b.adit.localhost/', { scheme: 'http' })).status, 404)
  })

  test('for http is not served over TLS, and two of one name are two', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    const plain = await agent.bind('http', { Domain: 'a' })
    assert.equal((await visit(plan.router, 'a.adit.localhost/')).status, 404)
    assert.equal((await visit(plan.router, 'a.adit.localhost/', { scheme: 'http' })).text, `${plain.Id} /`)
    const secured = await agent.bind('https', { Domain: 'a' })
    assert.equal((await visit(plan.router, 'a.adit.localhost/')).text, `${secured.Id} /`)
    assert.equal((await visit(plan.router, 'a.adit.localhost/', { scheme: 'http' })).text, `${plain.Id} /`)
  })

  test('of a wildcard serves names that no other tunnel has', async () => {
    await using plan = await startRouter()
    plan.source.put('reserved_domain', newId('rd'), { domain: '*.example.com' })
    plan.source.put('reserved_domain', newId('rd'), { domain: '*.b.example.com' })
    const agent = await plan.agent()
    const wide = await agent.bind('https', { Domain: '*.example.com' })
    const near = await agent.bind('https', { Domain: '*.b.example.com' })
    const exact = await agent.bind('https', { Domain: 'c.b.example.com' })
    for (const [name, { Id }] of [
      ['a.example.com', wide],
      ['a.b.example.com', near],
      ['x.a.b.example.com', near],
      ['c.b.example.com', exact],
    ] as const)
      assert.equal((await visit(plan.router, `${name}/`)).text, `${Id} /`, name)
    assert.equal((await visit(plan.router, 'example.com/')).status, 404)
  })

  test('is served with the modules it was bound with', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    await agent.bind('https', { Domain: 'a', IPRestriction: { allow_cidrs: ['198.51.100.0/24'] } })
    assert.equal((await visit(plan.router, 'a.adit.localhost/')).status, 403)
    assert.equal((await visit(plan.router, 'a.adit.localhost/', { ip: '198.51.100.1' })).status, 200)
  })
})

suite('SEC-12: a request for another name than that of its connection', () => {
  test('is misdirected', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    await agent.bind('https', { Domain: 'a' })
    await agent.bind('https', { Domain: 'b' })
    const options = { serverName: 'b.adit.localhost' }
    const refused = await visit(plan.router, 'a.adit.localhost/', options)
    assert.deepEqual([refused.status, refused.code], [421, 'ERR_ADIT_90037'])
    assert.equal((await visit(plan.router, 'a.adit.localhost/', { serverName: 'x.test' })).status, 421)
    assert.equal((await visit(plan.router, 'a.adit.localhost/', { serverName: null })).status, 200)
  })

  test('is served where one edge has both names', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    await agent.label({ app: 'a' })
    const edge = httpsEdge(plan.source, ['a.test', 'b.test'])
    route(plan.source, edge, '/', toBackend(group(plan.source, { app: 'a' })))
    assert.equal((await visit(plan.router, 'a.test/', { serverName: 'b.test' })).status, 200)
  })
})

suite('a restriction for all endpoints', () => {
  test('denies clients everywhere when it is enforced', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    await agent.bind('https', { Domain: 'a' })
    await agent.bind('tls', { Domain: 't' })
    const { URL: url } = await agent.bind('tcp')
    const port = Number(url.split(':').at(-1))
    const restriction = plan.source.restrict('endpoints', true, '198.51.100.0/24')
    const refused = await visit(plan.router, 'a.adit.localhost/')
    assert.deepEqual([refused.status, refused.code], [403, 'ERR_ADIT_3205'])
    assert.equal((await visit(plan.router, 'a.adit.localhost/', { ip: '198.51.100.9' })).status, 200)
    assert.equal(plan.router.serverName('t.adit.localhost', '192.0.2.1').kind, 'refused')
    assert.equal(plan.router.serverName('t.adit.localhost', '198.51.100.9').kind, 'passthrough')
    const guest = { ip: '192.0.2.1', port: 1, localIp: '', localPort: 1, serverName: undefined }
    await assert.rejects(async () => plan.router.tcp(port)?.dial(guest, Buffer.alloc(0)))
    await plan.router.tcp(port)?.dial({ ...guest, ip: '198.51.100.9' }, Buffer.alloc(0))
    plan.source.remove(restriction)
    assert.equal((await visit(plan.router, 'a.adit.localhost/')).status, 200)
  })

  test('denies no client when it is not', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    await agent.bind('https', { Domain: 'a' })
    plan.source.restrict('endpoints', false, '198.51.100.0/24')
    assert.equal((await visit(plan.router, 'a.adit.localhost/')).status, 200)
  })
})

suite('an HTTPS edge', () => {
  test('balances by round robin over the tunnels that have all labels of its group', async () => {
    await using plan = await startRouter()
    const agents = [await plan.agent(), await plan.agent()]
    const ids = await Promise.all(agents.map(async agent => (await agent.label({ app: 'a', zone: 'b' })).Id))
    await agents[0]?.label({ app: 'a' })
    const edge = httpsEdge(plan.source, ['a.test'])
    route(plan.source, edge, '/', toBackend(group(plan.source, { app: 'a', zone: 'b' })))
    const counts = new Map<string, number>()
    for (let times = 0; times < 6; times++) {
      const [id = ''] = (await visit(plan.router, 'a.test/')).text.split(' ')
      counts.set(id, (counts.get(id) ?? 0) + 1)
    }
    assert.deepEqual(counts, new Map(ids.map(id => [id, 3])))
    assert.deepEqual(agents[1]?.proxied[0]?.header, {
      Id: ids[1],
      ClientAddr: '192.0.2.7:50000',
      Proto: '',
      EdgeType: '3',
      PassthroughTLS: false,
    })
  })

  test('responds with 503 when no tunnel of its group is online, and serves as soon as one is', async () => {
    await using plan = await startRouter()
    const edge = httpsEdge(plan.source, ['a.test'])
    route(plan.source, edge, '/', toBackend(group(plan.source, { app: 'a' })))
    const empty = await visit(plan.router, 'a.test/')
    assert.deepEqual([empty.status, empty.code], [503, 'ERR_ADIT_90042'])
    const agent = await plan.agent()
    const { Id } = await agent.label({ app: 'a' })
    assert.equal((await visit(plan.router, 'a.test/')).status, 200)
    await agent.unbind(Id)
    assert.equal((await visit(plan.router, 'a.test/')).status, 503)
  })

  test('serves wildcards, and is named to clients of plain HTTP', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    await agent.label({ app: 'a' })
    const edge = httpsEdge(plan.source, ['*.a.test'])
    route(plan.source, edge, '/', toBackend(group(plan.source, { app: 'a' })))
    assert.equal((await visit(plan.router, 'x.y.a.test/')).status, 200)
    assert.equal((await visit(plan.router, 'a.test/')).status, 404)
    const moved = await visit(plan.router, 'x.a.test/p', { scheme: 'http' })
    assert.deepEqual([moved.status, moved.location], [308, 'https://x.a.test:8443/p'])
  })

  test('serves its names until they are given to another edge, and the routes of the moment', async () => {
    await using plan = await startRouter()
    const { source, router } = plan
    const agent = await plan.agent()
    const { Id } = await agent.label({ app: 'a' })
    const backend = toBackend(group(source, { app: 'a' }))
    const [first, second] = [httpsEdge(source, ['a.test', 'b.test']), httpsEdge(source, ['c.test'])]
    const text = async (url: string): Promise<string> => (await visit(router, url)).text
    const status = async (url: string): Promise<number> => (await visit(router, url)).status
    const old = route(source, first, '/old', backend)
    route(source, second, '/new', backend)
    for (const host of ['a.test', 'b.test']) assert.equal(await text(`${host}/old`), `${Id} /old`)
    assert.equal(await status('b.test/new'), 404)
    source.put('https_edge', first, { hostports: ['a.test:443'] })
    assert.equal(await status('b.test/old'), 404)
    source.put('https_edge', second, { hostports: ['b.test:443', 'c.test:443'] })
    assert.equal(await text('b.test/new'), `${Id} /new`)
    assert.equal(await text('a.test/old'), `${Id} /old`)
    source.remove(old)
    assert.equal(await status('a.test/old'), 404)
    route(source, first, '/newer', backend)
    assert.equal(await text('a.test/newer'), `${Id} /newer`)
    source.remove(first)
    assert.equal(await status('a.test/newer'), 404)
  })

  test('takes precedence over a tunnel that had the name first', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    await agent.bind('https', { Domain: 'a' })
    httpsEdge(plan.source, ['a.adit.localhost'])
    assert.equal((await visit(plan.router, 'a.adit.localhost/')).status, 404)
  })

  test('selects the exact path, then the longest prefix of whole segments, then the route with the host', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    const edge = httpsEdge(plan.source, ['a.test', 'b.test'])
    const ids = new Map<string, string>()
    const add = async (name: string, match: string, match_type: string) => {
      ids.set((await agent.label({ to: name })).Id, name)
      route(plan.source, edge, match, { match_type, ...toBackend(group(plan.source, { to: name })) })
    }
    await add('rest', '/', 'path_prefix')
    await add('prefix', '/app', 'path_prefix')
    await add('exact', '/app/one', 'exact_path')
    await add('long', '/app/one', 'path_prefix')
    await add('host', 'b.test/app', 'path_prefix')
    await add('hostOnly', 'b.test', 'path_prefix')
    for (const [url, name] of [
      ['a.test/', 'rest'],
      ['a.test/apple', 'rest'],
      ['a.test/app', 'prefix'],
      ['a.test/app/', 'prefix'],
      ['a.test/app/two', 'prefix'],
      ['a.test/app/one', 'exact'],
      ['a.test/app/one/more', 'long'],
      ['b.test/app', 'host'],
      ['b.test/other', 'hostOnly'],
      ['b.test/app/one', 'exact'],
    ] as const) {
      const [id = ''] = (await visit(plan.router, url)).text.split(' ')
      assert.equal(ids.get(id), name, url)
    }
  })

  test('skips a tunnel that cannot be reached', async () => {
    await using plan = await startRouter()
    const alive = await plan.agent()
    const dead = await plan.agent()
    const { Id } = await alive.label({ app: 'a' })
    await dead.label({ app: 'a' })
    const edge = httpsEdge(plan.source, ['a.test'])
    route(plan.source, edge, '/', toBackend(group(plan.source, { app: 'a' })))
    // The gateway has not noticed yet that the agent is gone.
    dead.session.close()
    dead.drop()
    for (let times = 0; times < 4; times++)
      assert.equal((await visit(plan.router, 'a.test/')).text, `${Id} /`)
  })

  const unservable: readonly (readonly [string, object, object])[] = [
    ['a module of the route', {}, { user_agent_filter: { enabled: true, allow: ['('], deny: [] } }],
    ['a policy of the route', {}, { traffic_policy: { enabled: true, value: '{}' } }],
    ['IP policies that are no list', {}, { ip_restriction: { enabled: true, ip_policies: 5 } }],
  ]
  for (const [what, edgeModules, routeModules] of unservable)
    test(`answers 503 because of ${what}, and serves again without it`, async () => {
      await using plan = await startRouter()
      const agent = await plan.agent()
      await agent.label({ app: 'a' })
      const edge = httpsEdge(plan.source, ['a.test'], edgeModules)
      const backend = toBackend(group(plan.source, { app: 'a' }))
      const id = route(plan.source, edge, '/', { ...backend, ...routeModules })
      const refused = await visit(plan.router, 'a.test/')
      assert.deepEqual([refused.status, refused.code], [503, 'ERR_ADIT_90043'])
      plan.source.put('https_edge', edge, { hostports: ['a.test:443'] })
      const fields = { match: '/', match_type: 'path_prefix', ...backend, traffic_policy: { enabled: false } }
      plan.source.put('https_edge_route', id, fields, { parent: edge })
      assert.equal((await visit(plan.router, 'a.test/')).status, 200)
    })

  test('answers 503 because of a missing backend, and of secrets that cannot be decrypted', async () => {
    await using plan = await startRouter()
    const edge = httpsEdge(plan.source, ['a.test'])
    route(plan.source, edge, '/', toBackend(newId('bkdsc')))
    assert.equal((await visit(plan.router, 'a.test/')).code, 'ERR_ADIT_90043')
    const id = newId('edghtsrt')
    const body = { match: '/closed', match_type: 'path_prefix', ...toBackend(group(plan.source, { a: 'b' })) }
    plan.source.put('https_edge_route', id, body, { parent: edge, readable: false })
    assert.equal((await visit(plan.router, 'a.test/closed')).code, 'ERR_ADIT_90043')
  })

  test('without a route or without a backend is offline', async () => {
    await using plan = await startRouter()
    const edge = httpsEdge(plan.source, ['a.test'])
    assert.equal((await visit(plan.router, 'a.test/')).code, 'ERR_ADIT_3200')
    route(plan.source, edge, '/')
    assert.equal((await visit(plan.router, 'a.test/')).code, 'ERR_ADIT_3200')
  })
})

suite('connections without HTTP', () => {
  const guest = { ip: '192.0.2.1', port: 7, localIp: '127.0.0.1', localPort: 8443, serverName: undefined }

  test('over TLS reach the tunnel of that name, passed through or terminated', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    const passing = await agent.bind('tls', { Domain: 'a', ProxyProto: 2 })
    await agent.bind('tls', { Domain: 'b', TLSTermination: {} })
    const target = plan.router.serverName('a.adit.localhost', guest.ip)
    assert.ok(target.kind === 'passthrough')
    assert.equal(target.upstream.proxyProtocol, 2)
    await target.upstream.dial(guest, Buffer.from('hello'))
    await until(() => agent.proxied.length === 1, { what: 'it came through' })
    assert.deepEqual(agent.proxied[0]?.header, {
      Id: passing.Id,
      ClientAddr: '192.0.2.1:7',
      Proto: 'tls',
      EdgeType: '0',
      PassthroughTLS: true,
    })
    assert.equal(plan.router.serverName('b.adit.localhost', guest.ip).kind, 'terminated')
    assert.equal(plan.router.serverName('c.adit.localhost', guest.ip).kind, 'http')
    assert.equal(plan.router.serverName(undefined, guest.ip).kind, 'http')
  })

  test('to a port reach its tunnel, which may deny clients', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    const { URL: url } = await agent.bind('tcp', { IPRestriction: { deny_cidrs: ['203.0.113.0/24'] } })
    const port = Number(url.split(':').at(-1))
    await plan.router.tcp(port)?.dial({ ...guest, ip: '2001:db8::1' }, Buffer.from('x'))
    await until(() => agent.proxied.length === 1, { what: 'it came through' })
    assert.equal(agent.proxied[0]?.header.ClientAddr, '[2001:db8::1]:7')
    await assert.rejects(async () =>
      plan.router.tcp(port)?.dial({ ...guest, ip: '203.0.113.9' }, Buffer.alloc(0)),
    )
    assert.equal(plan.router.tcp(port === 20_000 ? 20_001 : 20_000), undefined)
  })

  test('to TCP and TLS edges reach the tunnels of their group', async () => {
    await using plan = await startRouter()
    const agent = await plan.agent()
    const { Id } = await agent.label({ app: 'a' })
    const backend = toBackend(group(plan.source, { app: 'a' }))
    plan.source.put('tcp_edge', newId('edgtcp'), { hostports: ['1.tcp.adit.localhost:20005'], ...backend })
    plan.source.put('tls_edge', newId('edgtls'), { hostports: ['t.test:443'], ...backend })
    await plan.router.tcp(20_005)?.dial(guest, Buffer.from('x'))
    const target = plan.router.serverName('t.test', guest.ip)
    assert.ok(target.kind === 'passthrough')
    await target.upstream.dial(guest, Buffer.from('x'))
    await until(() => agent.proxied.length === 2, { what: 'both came through' })
    assert.deepEqual(
      agent.proxied.map(({ header }) => [header.Id, header.EdgeType, header.PassthroughTLS]),
      [
        [Id, '1', false],
        [Id, '2', true],
      ],
    )
  })

  test('to edges that cannot be served are refused', async () => {
    await using plan = await startRouter()
    const backend = toBackend(group(plan.source, { app: 'a' }))
    plan.source.put('tls_edge', newId('edgtls'), {
      hostports: ['t.test:443'],
      ...backend,
      mutual_tls: { enabled: true, certificate_authorities: [newId('ca')] },
      tls_termination: { enabled: true, terminate_at: 'edge' },
    })
    plan.source.put('tcp_edge', newId('edgtcp'), { hostports: ['1.tcp.adit.localhost:20005'], ...backend })
    assert.equal(plan.router.serverName('t.test', guest.ip).kind, 'refused')
    await assert.rejects(async () => plan.router.tcp(20_005)?.dial(guest, Buffer.alloc(0)))
  })
})

suite('SEC-01: a path with several interpretations', () => {
  const routes = { '/': 'rest', '/admin': 'admin', '/caf%C3%A9': 'coffee', '/a b': 'blank' }
  const verdicts = {
    '/x': 'rest',
    '/admin/x': 'admin',
    '/administrator': 'rest',
    '/x/../y': 'rest',
    '/proxy/http://other/': 'rest',
    '/files/a%20b%2Fc': 'rest',
    '/caf%C3%A9/x': 'coffee',
    '/caf%c3%a9': 'coffee',
    '/a%20b/x': 'blank',
    '/admin/../x': 'refused',
    '/x/../admin': 'refused',
    '/%61dmin': 'refused',
    '//admin': 'refused',
    '/./admin': 'refused',
    '/x/%2e%2e/admin': 'refused',
    '/x%2f..%2fadmin': 'refused',
    '/x/..%5cadmin': 'refused',
    '/x\\..\\admin': 'refused',
    '/%2561dmin': 'refused',
    '/;a=b/admin': 'refused',
    '/admin;a=b': 'refused',
  }
  for (const [path, verdict] of Object.entries(verdicts))
    test(`${path} is ${verdict === 'refused' ? 'refused' : `answered by the route for ${verdict}`}`, () => {
      const rows = Object.entries(routes).map(([match, id]) => ({
        kind: 'https_edge_route',
        id,
        parent: 'edge',
        version: 1,
        body: { match, match_type: 'path_prefix' as const },
        readable: true,
      }))
      const found = new Routes(rows).find('a.test', path, path)
      assert.equal(found === 'ambiguous' ? 'refused' : found?.row.id, verdict)
    })

  test('is rejected with 400 and a hint', async () => {
    await using plan = await startRouter()
    const edge = httpsEdge(plan.source, ['a.test'])
    for (const match of ['/', '/admin']) route(plan.source, edge, match)
    const refused = await visit(plan.router, 'a.test/x/../admin')
    assert.deepEqual([refused.status, refused.code], [400, 'ERR_ADIT_90049'])
  })
})
