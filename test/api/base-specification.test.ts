import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createResource, onBothStores } from '../support/each-store.ts'
import type { Caller } from '../support/server.ts'

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/

interface Plain {
  readonly path: string
  readonly prefix: string
  readonly listKey: string
  readonly create: (api: Caller) => Promise<object>
  readonly update: object
  /** Fields of the answer to create, beyond those every resource has. */
  readonly answers: (given: Record<string, unknown>) => object
}

const policy = async (api: Caller): Promise<string> => (await createResource(api, '/ip_policies')).id
const ref = (api: Caller, path: string, id: string) => ({ id, uri: `${api.url}${path}/${id}` })

/** The kinds of the base specification that are created, read, listed, changed and deleted alike. */
const kinds: Plain[] = [
  {
    path: '/api_keys',
    prefix: 'ak',
    listKey: 'keys',
    create: async () => ({ description: 'ci', metadata: '{"a":1}' }),
    update: { description: 'other' },
    answers: () => ({ description: 'ci', metadata: '{"a":1}' }),
  },
  {
    path: '/edges/tcp',
    prefix: 'edgtcp',
    listKey: 'tcp_edges',
    create: async () => ({ description: 'db', metadata: 'm' }),
    update: { metadata: 'other' },
    answers: () => ({
      description: 'db',
      metadata: 'm',
      hostports: null,
      backend: null,
      ip_restriction: null,
    }),
  },
  {
    path: '/agent_ingresses',
    prefix: 'agin',
    listKey: 'ingresses',
    create: async () => ({
      description: 'own',
      metadata: '',
      domain: `agents-${Math.random().toString(36).slice(2)}.example.com`,
    }),
    update: { description: 'other' },
    answers: ({ domain }) => ({
      domain,
      ns_targets: ['ns1.adit.localhost', 'ns2.adit.localhost'],
      region_domains: [`tunnel.us.${String(domain)}`],
    }),
  },
  {
    path: '/backends/http_response',
    prefix: 'bkdhr',
    listKey: 'backends',
    create: async () => ({ body: 'hi', headers: { 'Content-Type': 'text/plain' }, status_code: 201 }),
    update: { body: 'other' },
    answers: () => ({ body: 'hi', headers: { 'content-type': 'text/plain' }, status_code: 201 }),
  },
  {
    path: '/backends/weighted',
    prefix: 'bkdwd',
    listKey: 'backends',
    create: async api => ({
      backends: { [(await createResource(api, '/backends/http_response')).id]: 10_000 },
    }),
    update: { description: 'other' },
    answers: ({ backends }) => ({ backends }),
  },
  {
    path: '/reserved_domains',
    prefix: 'rd',
    listKey: 'reserved_domains',
    create: async () => ({ name: `app${Math.random().toString(36).slice(2)}`, metadata: 'm' }),
    update: { description: 'other' },
    answers: ({ name }) => ({
      domain: `${String(name)}.adit.localhost`,
      region: 'us',
      cname_target: null,
      http_endpoint_configuration: null,
      https_endpoint_configuration: null,
      certificate: null,
      certificate_management_policy: null,
      certificate_management_status: null,
      acme_challenge_cname_target: null,
    }),
  },
]

onBothStores('the base specification', api => {
  for (const kind of kinds) {
    test(`creates, reads, lists, changes and deletes at ${kind.path}`, async () => {
      const given = (await kind.create(api())) as Record<string, unknown>
      const created = await createResource(api(), kind.path, given)
      assert.match(created.id, new RegExp(`^${kind.prefix}_[0-9A-Za-z]{27}$`))
      assert.equal(created.uri, `${api().url}${kind.path}/${created.id}`)
      assert.match(created.created_at, RFC3339)
      assert.deepEqual({ ...created, ...kind.answers(given) }, created)

      const read = await api().get(`${kind.path}/${created.id}`)
      assert.equal(read.status, 200)
      const { token: _, ...rest } = created
      assert.deepEqual({ ...read.body, ...rest }, read.body)

      const listed = await api().get(kind.path)
      assert.equal(listed.status, 200)
      assert.equal(listed.body.uri, api().url + kind.path)
      assert.equal(listed.body.next_page_uri, null)
      assert.deepEqual(listed.body[kind.listKey][0], read.body, 'newest first')

      const changed = await api().patch(`${kind.path}/${created.id}`, kind.update)
      assert.equal(changed.status, 200)
      assert.deepEqual(changed.body, { ...read.body, ...kind.update })

      const deleted = await api().delete(`${kind.path}/${created.id}`)
      assert.deepEqual([deleted.status, deleted.body], [204, undefined])
      assert.equal((await api().get(`${kind.path}/${created.id}`)).status, 404)
      assert.equal((await api().delete(`${kind.path}/${created.id}`)).status, 404)
    })
  }

  test('shows the token of an API key once, and null ever after', async () => {
    const created = await createResource(api(), '/api_keys', { description: 'once' })
    assert.ok(created.token.length > 60)
    const read = await api().get(`/api_keys/${created.id}`)
    assert.equal(read.body.token, null)
    const patched = await api().patch(`/api_keys/${created.id}`, { description: 'twice' })
    assert.equal(patched.body.token, null)
    const listed = await api().get('/api_keys')
    assert.ok(listed.body.keys.every((key: { token: unknown }) => key.token === null))
    const self = await api().get('/self', { token: created.token })
    assert.equal(self.body.api_key.id, created.id)
  })

  test('keeps, replaces and removes the modules of a TCP edge', async () => {
    const backend = await createResource(api(), '/backends/http_response', {})
    const other = await createResource(api(), '/backends/http_response', {})
    const edge = await createResource(api(), '/edges/tcp', {
      backend: { backend_id: backend.id },
      ip_restriction: { enabled: false, ip_policy_ids: [await policy(api())] },
    })
    assert.deepEqual(edge.backend, {
      enabled: true,
      backend: ref(api(), '/backends/http_response', backend.id),
    })
    assert.equal(edge.ip_restriction.enabled, false)

    const path = `/edges/tcp/${edge.id}/backend`
    assert.deepEqual((await api().get(path)).body, edge.backend)
    const replaced = await api().put(path, { enabled: false, backend_id: other.id })
    assert.equal(replaced.status, 200)
    assert.deepEqual(replaced.body, {
      enabled: false,
      backend: ref(api(), '/backends/http_response', other.id),
    })

    const patched = await api().patch(`/edges/tcp/${edge.id}`, { backend: { backend_id: backend.id } })
    assert.equal(patched.body.backend.enabled, true, 'a module that is given replaces the old one completely')
    assert.deepEqual(patched.body.ip_restriction, edge.ip_restriction, 'a module that is not given stays')
    const untouched = await api().patch(`/edges/tcp/${edge.id}`, { backend: null })
    assert.deepEqual(untouched.body.backend, patched.body.backend, 'PATCH cannot remove a module')

    assert.equal((await api().delete(path)).status, 204)
    assert.equal((await api().get(path)).status, 404)
    assert.equal((await api().get(`/edges/tcp/${edge.id}`)).body.backend, null)
  })

  test('sets modules of TLS edges and mutual TLS of HTTPS edges', async () => {
    const backend = await createResource(api(), '/backends/http_response', {})
    const edge = await createResource(api(), '/edges/tls', {})
    const ipPolicy = await policy(api())
    for (const [name, given, answer] of [
      [
        'backend',
        { backend_id: backend.id },
        { enabled: true, backend: ref(api(), '/backends/http_response', backend.id) },
      ],
      [
        'ip_restriction',
        { ip_policy_ids: [ipPolicy] },
        { enabled: true, ip_policies: [ref(api(), '/ip_policies', ipPolicy)] },
      ],
    ] as const) {
      const path = `/edges/tls/${edge.id}/${name}`
      const put = await api().put(path, given)
      assert.deepEqual([put.status, put.body], [200, answer])
      assert.deepEqual((await api().get(path)).body, answer)
      assert.equal((await api().delete(path)).status, 204)
      assert.equal((await api().get(path)).status, 404)
    }
  })

  test('binds IP policies to a kind of traffic', async () => {
    const [first, second] = [await policy(api()), await policy(api())]
    const created = await createResource(api(), '/ip_restrictions', {
      type: 'endpoints',
      enforced: true,
      ip_policy_ids: [second, first],
    })
    assert.deepEqual(created.ip_policies, [
      ref(api(), '/ip_policies', second),
      ref(api(), '/ip_policies', first),
    ])
    assert.deepEqual([created.type, created.enforced], ['endpoints', true])
    const changed = await api().patch(`/ip_restrictions/${created.id}`, {
      enforced: false,
      ip_policy_ids: [first],
    })
    assert.deepEqual(changed.body.ip_policies, [ref(api(), '/ip_policies', first)])
    assert.equal(changed.body.enforced, false)
    assert.equal((await api().delete(`/ip_restrictions/${created.id}`)).status, 204)
  })

  test('adds and removes event sources of a subscription', async () => {
    const subscription = await createResource(api(), '/event_subscriptions', {})
    const path = `/event_subscriptions/${subscription.id}/sources`
    const source = { type: 'ip_policy_created.v0', uri: `${api().url}${path}/ip_policy_created.v0` }
    const created = await api().post(path, { type: source.type })
    assert.deepEqual([created.status, created.body], [201, source])
    assert.deepEqual((await api().get(`${path}/${source.type}`)).body, source)
    assert.deepEqual((await api().get(path)).body, { sources: [source], uri: api().url + path })
    const patched = await api().patch(`${path}/${source.type}`, {})
    assert.deepEqual([patched.status, patched.body], [200, source])
    assert.deepEqual((await api().get(`/event_subscriptions/${subscription.id}`)).body.sources, [source])
    assert.equal((await api().delete(`${path}/${source.type}`)).status, 204)
    assert.equal((await api().get(`${path}/${source.type}`)).status, 404)
  })

  test('shows nothing online while nothing is', async () => {
    for (const [path, key, prefix] of [
      ['/tunnel_sessions', 'tunnel_sessions', 'ts'],
      ['/tunnels', 'tunnels', 'tn'],
      ['/endpoints', 'endpoints', 'ep'],
    ] as const) {
      assert.deepEqual((await api().get(path)).body, {
        [key]: [],
        uri: api().url + path,
        next_page_uri: null,
      })
      assert.equal((await api().get(`${path}/${prefix}_${'0'.repeat(27)}`)).status, 404)
    }
    for (const command of ['restart', 'stop', 'update']) {
      assert.equal((await api().post(`/tunnel_sessions/ts_${'0'.repeat(27)}/${command}`)).status, 404)
    }
  })

  test('pages newest first, and only as far as there is something', async () => {
    const ids: string[] = []
    for (let index = 0; index < 5; index++)
      ids.unshift((await createResource(api(), '/bot_users', { name: `bot ${index}` })).id)
    const seen: string[] = []
    let next: string | null = `${api().url}/bot_users?limit=2`
    const pages: number[] = []
    while (next !== null) {
      const page: { bot_users: { id: string }[]; next_page_uri: string | null } = (await api().get(next)).body
      pages.push(page.bot_users.length)
      seen.push(...page.bot_users.map(bot => bot.id))
      next = page.next_page_uri
      if (next !== null) assert.equal(next, `${api().url}/bot_users?before_id=${seen.at(-1)}&limit=2`)
    }
    assert.deepEqual(seen, ids)
    assert.deepEqual(pages, [2, 2, 1])
  })
})
