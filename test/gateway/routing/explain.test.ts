import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { RouteExplanation } from '#contract/route-explanation.ts'
import { World } from '../../e2e/edges/world.ts'
import { assertRefused, createResource } from '../../support/each-store.ts'
import { type Member, newMember } from '../../support/members.ts'
import { runAdit } from '../../support/server.ts'
import { until } from '../../support/until.ts'
import { workerCounts } from '../../support/workers.ts'

for (const workers of workerCounts)
  suite(`the explanation of a route with ${workers} gateway processes`, () => {
    let world: World
    let edge: string
    let backend: string
    let asked = 0
    let member: Member
    const routes: Record<string, string> = {}

    const explain = async (url: string, more: object = {}, token?: string): Promise<RouteExplanation> => {
      const { api } = world.server
      const answer = await api.post(
        '/requests/explain',
        { request_url: url, ...more },
        token === undefined ? {} : { token },
      )
      assert.equal(answer.status, 200, JSON.stringify(answer.body))
      return answer.body
    }

    before(async () => {
      world = await World.start({ workers })
      const { api } = world.server
      backend = await world.static((_, response) => {
        asked++
        response.end('fine')
      })
      const policy = await world.make('/ip_policies')
      const rule = { ip_policy_id: policy.id, cidr: '203.0.113.0/24', action: 'allow' }
      await world.make('/ip_policy_rules', rule)
      edge = await world.edge(['shop.example.test', '*.wild.example.test'])
      routes['root'] = await world.route(edge, '/', backend)
      routes['office'] = await world.route(edge, '/office', backend, {
        ip_restriction: { ip_policy_ids: [policy.id] },
        user_agent_filter: { deny: ['bot'] },
        compression: {},
        request_headers: { add: { 'x-from': 'edge' } },
      })
      routes['exact'] = await world.route(edge, '/office/open', backend, { match_type: 'exact_path' })
      member = await newMember(api)
      await until(async () => (await world.ask('shop.example.test/')).status === 200)
      asked = 0
    })
    after(() => world[Symbol.asyncDispose]())

    test('names the edge, the route and the reason, as the gateway decides it', async () => {
      const exact = await explain('https://SHOP.example.test:8443/office/open?a=b')
      assert.deepEqual(
        [exact.listener, exact.host, exact.path, exact.matched_host],
        ['https', 'shop.example.test', '/office/open', 'shop.example.test'],
      )
      assert.deepEqual(
        [exact.handled_by, exact.edge_id, exact.route_id, exact.match, exact.match_type, exact.backend_id],
        ['edge', edge, routes['exact'], '/office/open', 'exact_path', backend],
      )
      assert.match(exact.reason, /exact route \/office\/open/)
      const wild = await explain('https://a.wild.example.test/other')
      assert.deepEqual(
        [wild.matched_host, wild.route_id, wild.match_type, wild.status],
        ['*.wild.example.test', routes['root'], 'path_prefix', null],
      )
    })

    test('has the verdict of each module that can be known without the request', async () => {
      const url = 'https://shop.example.test/office/x'
      const denied = await explain(url, { ip: '198.51.100.1' })
      assert.equal(denied.route_id, routes['office'])
      assert.deepEqual(
        denied.modules.map(({ name, verdict }) => `${name} ${verdict}`),
        [
          'ip_restriction rejects',
          'user_agent_filter not_reached',
          'compression not_reached',
          'request_headers not_reached',
        ],
      )
      assert.equal(denied.status, 403)
      // The same code as a request gets.
      assert.equal(denied.error_code, (await world.ask('shop.example.test/office/x')).code)
      const agent = { headers: { 'User-Agent': 'a bot' }, ip: '203.0.113.9' }
      const bot = await explain(url, agent)
      assert.deepEqual(
        bot.modules.map(({ verdict }) => verdict),
        ['passes', 'rejects', 'not_reached', 'not_reached'],
      )
      const fine = await explain(url, { ...agent, headers: { 'User-Agent': 'curl' } })
      assert.deepEqual(
        fine.modules.map(({ verdict }) => verdict),
        ['passes', 'passes', 'would_run', 'would_run'],
      )
      assert.deepEqual([fine.status, fine.error_code], [null, null])
    })

    test('sends nothing and logs nothing', async () => {
      const kept = (await world.server.api.get('/requests')).body.requests.length
      await explain('https://shop.example.test/')
      assert.equal(asked, 0)
      assert.equal((await world.server.api.get('/requests')).body.requests.length, kept)
    })

    test('reports what has no endpoint, what is redirected, and what is ambiguous', async () => {
      const none = await explain('https://nothing.example.test/')
      assert.deepEqual([none.handled_by, none.status, none.error_code], ['none', 404, 'ERR_ADIT_3200'])
      const bare = await world.edge(['bare.example.test'])
      const empty = await world.route(bare, '/empty', undefined)
      const lacksBackend = await until(() => explain('https://bare.example.test/empty'), {
        fits: ({ route_id: route }) => route === empty,
      })
      assert.deepEqual(
        [lacksBackend.status, lacksBackend.error_code, lacksBackend.reason],
        [404, 'ERR_ADIT_3200', 'The route has no backend.'],
      )
      const lacksRoute = await explain('https://bare.example.test/')
      assert.deepEqual(
        [lacksRoute.edge_id, lacksRoute.error_code, lacksRoute.reason],
        [bare, 'ERR_ADIT_3200', 'No route of the edge matches the path.'],
      )
      for (const [path, advice] of [
        ['/', /none of its routes matches the path/],
        ['/empty', /its route for the path has no backend/],
      ] as const) {
        const { requestId, text } = await world.ask(`bare.example.test${path}`)
        assert.match(text, advice)
        assert.doesNotMatch(text, /adit http|agent/)
        const { body } = await until(() => world.server.api.get(`/requests/${requestId}/reason`), {
          fits: ({ status }) => status === 200,
        })
        assert.match(body.advice, advice)
        assert.match(body.command, /^adit api https-edge-routes (create|update) EDGE_ID/)
      }
      const plain = await explain('http://shop.example.test/')
      assert.deepEqual([plain.handled_by, plain.status, plain.edge_id], ['redirect', 308, edge])
      const odd = await explain('https://shop.example.test/office%2fopen/..;/x')
      assert.equal(odd.error_code, (await world.ask('shop.example.test/office%2fopen/..;/x')).code)
    })

    test('explains tunnels and their options', async () => {
      const agent = await world.agent()
      const tunnel = await agent.listen({ forwardTo: 9, denyCidrs: ['198.51.100.0/24'] })
      const found = await explain(tunnel.url, { ip: '198.51.100.1' })
      assert.deepEqual([found.handled_by, found.tunnel_id], ['tunnel', tunnel.id])
      assert.deepEqual(found.modules, [{ name: 'ip_restriction', verdict: 'rejects' }])
      assert.deepEqual((await explain(tunnel.url, { ip: '10.0.0.1' })).modules[0]?.verdict, 'passes')
    })

    test('is for members only about endpoints of their own', async () => {
      const { api } = world.server
      const as = { token: member.token }
      for (const url of ['https://shop.example.test/', 'https://nothing.example.test/'])
        assert.equal((await api.post('/requests/explain', { request_url: url }, as)).status, 404)
      const own = await api.post('/reserved_domains', { domain: 'own.example.test' }, as)
      assert.equal(own.status, 201)
      const body = { hostports: ['own.example.test:443'] }
      const theirs = await api.post('/edges/https', body, as)
      const seen = await until(
        async () =>
          (await api.post('/requests/explain', { request_url: 'https://own.example.test/' }, as)).body,
        { fits: found => found.handled_by === 'edge' },
      )
      assert.deepEqual([seen.edge_id, seen.route_id, seen.status], [theirs.body.id, null, 404])
    })

    test('rejects what is not a request', async () => {
      const path = '/requests/explain'
      const { api } = world.server
      for (const url of [
        '',
        'shop.example.test',
        'ftp://a.example',
        'https://',
        'https://a b/',
        'https://u@a/',
      ])
        await assertRefused(api, {
          path,
          body: { request_url: url },
          code: 90_021,
          says: /"request_url" must be a complete URL/,
        })
      const url = 'https://shop.example.test/'
      await assertRefused(api, { path, body: { request_url: url, ip: 'here' }, code: 90_430 })
      await assertRefused(api, {
        path,
        body: { request_url: url, headers: { 'a b': 'c' } },
        code: 215,
        field: 'headers',
      })
      await assertRefused(api, { path, body: { request_url: url, headers: { a: 'c\r\nd' } }, code: 215 })
      await assertRefused(api, { path, body: {}, code: 215, field: 'request_url' })
    })

    if (workers === '1')
      test('is a command', async () => {
        const environment = { ADIT_API_URL: world.server.api.url, ADIT_DATA_DIR: world.server.dataDir }
        const args = ['api', 'requests', 'explain', '--request-url', 'https://shop.example.test/office']
        const { code, stdout } = await runAdit([...args, '--ip', '203.0.113.1'], environment)
        assert.equal(code, 0)
        assert.equal((JSON.parse(stdout) as RouteExplanation).route_id, routes['office'])
      })

    test('applies the restriction of all endpoints', async () => {
      const policy = await createResource(world.server.api, '/ip_policies')
      const rule = { ip_policy_id: policy.id, cidr: '192.0.2.0/24', action: 'allow' }
      await createResource(world.server.api, '/ip_policy_rules', rule)
      const body = { type: 'endpoints', enforced: true, ip_policy_ids: [policy.id] }
      await createResource(world.server.api, '/ip_restrictions', body)
      const found = await until(() => explain('https://shop.example.test/', { ip: '203.0.113.1' }), {
        fits: ({ status }) => status !== null,
      })
      assert.equal(found.status, 403)
      assert.equal(found.error_code, (await world.ask('shop.example.test/')).code)
      assert.equal((await explain('https://shop.example.test/', { ip: '192.0.2.1' })).status, null)
    })
  })
