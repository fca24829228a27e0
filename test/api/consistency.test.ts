import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { openSqlite } from '#store/sqlite.ts'
import { createResource, onBothStores } from '../support/each-store.ts'
import { spawnServer, type Answer } from '../support/server.ts'
import { MARKER, secretText } from '../support/secrets.ts'
import { newFolder } from '../support/folder.ts'

const statuses = (answers: Answer[]) => answers.map(answer => answer.status).toSorted((a, b) => a - b)
const times = <Value>(count: number, make: (index: number) => Promise<Value>) =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

onBothStores('concurrent callers', api => {
  test('cannot both have the same domain', async () => {
    const answers = await times(20, () => api().post('/reserved_domains', { domain: 'one.example.com' }))
    assert.deepEqual(statuses(answers), [201, ...Array<number>(19).fill(400)])
    assert.ok(answers.every(({ status, body }) => status === 201 || body.error_code === 'ERR_ADIT_413'))
    assert.equal((await api().get('/reserved_domains')).body.reserved_domains.length, 1)
  })

  test('cannot both serve the same hostport or make the same route', async () => {
    const edges = await times(10, () => api().post('/edges/tcp', { hostports: ['localhost:15000'] }))
    assert.deepEqual(statuses(edges), [201, ...Array<number>(9).fill(400)])
    const edge = await createResource(api(), '/edges/https')
    const route = { match_type: 'exact_path', match: '/' }
    const routes = await times(10, () => api().post(`/edges/https/${edge.id}/routes`, route))
    assert.deepEqual(statuses(routes), [201, ...Array<number>(9).fill(400)])
  })

  test("do not undo each other's changes of different fields", async () => {
    const edge = await createResource(api(), '/edges/tcp')
    const backend = await createResource(api(), '/backends/http_response')
    const answers = await Promise.all([
      api().patch(`/edges/tcp/${edge.id}`, { description: 'a' }),
      api().patch(`/edges/tcp/${edge.id}`, { metadata: 'b' }),
      api().put(`/edges/tcp/${edge.id}/backend`, { backend_id: backend.id }),
      api().patch(`/edges/tcp/${edge.id}`, { hostports: ['localhost:15001'] }),
    ])
    assert.deepEqual(statuses(answers), [200, 200, 200, 200])
    const {
      description,
      metadata,
      backend: module,
      hostports,
    } = (await api().get(`/edges/tcp/${edge.id}`)).body
    assert.deepEqual(
      [description, metadata, module.backend.id, hostports],
      ['a', 'b', backend.id, ['localhost:15001']],
    )
  })

  test('are all served when many change one resource at once', async () => {
    const policy = await createResource(api(), '/ip_policies')
    const answers = await times(50, index =>
      api().patch(`/ip_policies/${policy.id}`, { description: `${index}` }),
    )
    assert.ok(answers.every(answer => answer.status === 200))
  })

  test('add event sources to one subscription without losing any', async () => {
    const subscription = await createResource(api(), '/event_subscriptions')
    const types = ['ip_policy', 'domain', 'api_key', 'tls_certificate', 'ip_restriction'].map(
      name => `${name}_created.v0`,
    )
    const answers = await Promise.all(
      types.map(type => api().post(`/event_subscriptions/${subscription.id}/sources`, { type })),
    )
    assert.deepEqual(statuses(answers), [201, 201, 201, 201, 201])
    const { sources } = (await api().get(`/event_subscriptions/${subscription.id}/sources`)).body
    assert.deepEqual(sources.map((source: { type: string }) => source.type).toSorted(), types.toSorted())
  })

  test('never leave a reference to a deleted resource', async () => {
    for (let round = 0; round < 10; round++) {
      const policy = await createResource(api(), '/ip_policies')
      const [removed, created] = await Promise.all([
        api().delete(`/ip_policies/${policy.id}`),
        api().post('/edges/tcp', { ip_restriction: { ip_policy_ids: [policy.id] } }),
      ])
      const left = (await api().get(`/ip_policies/${policy.id}`)).status
      assert.equal(left === 200, created.status === 201, `${removed.status} ${created.status}`)
    }
  })

  test('cannot close a circle of backends together', async () => {
    for (let round = 0; round < 10; round++) {
      const [a, b] = [
        await createResource(api(), '/backends/failover'),
        await createResource(api(), '/backends/weighted'),
      ]
      const answers = await Promise.all([
        api().patch(`/backends/failover/${a.id}`, { backends: [b.id] }),
        api().patch(`/backends/weighted/${b.id}`, { backends: { [a.id]: 1 } }),
      ])
      assert.deepEqual(statuses(answers), [200, 400])
      const refused = answers.find(answer => answer.status === 400)
      assert.equal(refused?.body.error_code, 'ERR_ADIT_90012')
    }
  })

  test('remove a parent only together with children that appear meanwhile', async () => {
    for (let round = 0; round < 10; round++) {
      const edge = await createResource(api(), '/edges/https')
      const [removed, ...routes] = await Promise.all([
        api().delete(`/edges/https/${edge.id}`),
        ...['/a', '/b', '/c'].map(match =>
          api().post(`/edges/https/${edge.id}/routes`, { match_type: 'exact_path', match }),
        ),
      ])
      assert.equal(removed.status, 204)
      assert.ok(routes.every(route => route.status === 201 || route.status === 404))
      assert.equal((await api().get(`/edges/https/${edge.id}`)).status, 404)
    }
  })
})

suite('what is kept', () => {
  test('has every change in the outbox, in order, with who made it, and without secrets', async () => {
    const dataDir = newFolder()
    const server = await spawnServer(dataDir)
    const policy = await createResource(server.api, '/ip_policies', { description: 'first' })
    await server.api.patch(`/ip_policies/${policy.id}`, { description: 'second' })
    const rule = await createResource(server.api, '/ip_policy_rules', {
      cidr: '10.0.0.0/8',
      action: 'allow',
      ip_policy_id: policy.id,
    })
    await server.api.delete(`/ip_policies/${policy.id}`)
    const key = await createResource(server.api, '/api_keys', {})
    const edge = await createResource(server.api, '/edges/https')
    const oidc = { issuer: 'https://a.example', client_id: 'c', client_secret: secretText('oidc') }
    await createResource(server.api, `/edges/https/${edge.id}/routes`, {
      match_type: 'exact_path',
      match: '/',
      oidc,
    })
    await server.api.post('/ip_policies', { description: 'x'.repeat(256) })
    await server.end('SIGTERM')

    await using store = await openSqlite(join(dataDir, 'adit.db'))
    const events = await store.events(0, 100)
    assert.deepEqual(
      events.map(event => event.type),
      [
        'ip_policy_created.v0',
        'ip_policy_updated.v0',
        'ip_policy_rule_created.v0',
        'ip_policy_rule_deleted.v0',
        'ip_policy_deleted.v0',
        'api_key_created.v0',
        'https_edge_created.v0',
        'https_edge_route_created.v0',
      ],
    )
    const [created, , , ruleDeleted] = events.map(event => JSON.parse(event.body))
    assert.deepEqual(created.object, policy)
    assert.equal(ruleDeleted.object.id, rule.id)
    assert.match(created.event_id, /^ev_/)
    assert.match(created.principal.id, /^usr_/)
    assert.match(created.principal.credential.id, /^ak_/)
    assert.deepEqual([created.principal.subject, created.principal.source], ['admin@localhost', 'API'])
    const text = events.map(event => event.body).join()
    assert.ok(!text.includes(MARKER) && !text.includes(key.token))
    const changes = await store.changes(0, 100)
    assert.deepEqual(
      changes.map(change => change.revision),
      changes.map((_, index) => index + 1),
    )
    assert.equal(changes.length, await store.revision())
  })

  test('holds no secret in the clear, in any file', async () => {
    const dataDir = newFolder()
    const server = await spawnServer(dataDir)
    const { api } = server
    const edge = await createResource(api, '/edges/https')
    await createResource(api, `/edges/https/${edge.id}/routes`, {
      match_type: 'exact_path',
      match: '/1',
      oidc: { issuer: 'https://a.example', client_id: 'c', client_secret: secretText('oidc') },
      webhook_verification: { provider: 'github', secret: secretText('webhook') },
    })
    await createResource(api, `/edges/https/${edge.id}/routes`, { match_type: 'exact_path', match: '/2' })
    const other = await createResource(api, '/edges/https')
    await createResource(api, `/edges/https/${other.id}/routes`, {
      match_type: 'exact_path',
      match: '/',
      oauth: { provider: { github: { client_id: 'c', client_secret: secretText('oauth') } } },
    })
    const targets = [
      { datadog: { api_key: secretText('datadog') } },
      { webhook: { url: 'https://example.com', secret: secretText('hook') } },
      { otlp: { endpoint: 'https://example.com', headers: { authorization: secretText('otlp') } } },
      {
        kinesis: {
          auth: { creds: { aws_access_key_id: 'a', aws_secret_access_key: secretText('aws') } },
          stream_arn: 'arn:aws:kinesis:us-east-1:123456789012:stream/a',
        },
      },
    ]
    for (const target of targets) {
      const shown = await createResource(api, '/event_destinations', { target })
      assert.ok(!JSON.stringify(shown).includes(MARKER), 'destinations do not show secrets')
    }
    const tokens = [
      (await createResource(api, '/api_keys')).token,
      (await createResource(api, '/credentials')).token,
    ]
    await createResource(api, '/ssh_certificate_authorities')
    const route = (await api.get(`/edges/https/${other.id}`)).body.routes[0]
    assert.equal(
      route.oauth.provider.github.client_secret,
      secretText('oauth'),
      'what the specification returns is returned',
    )
    await server.end('SIGTERM')

    const files = readdirSync(dataDir).map(name => readFileSync(join(dataDir, name), 'latin1'))
    for (const secret of [MARKER, 'PRIVATE KEY', ...tokens]) {
      assert.ok(
        files.every(text => !text.includes(secret)),
        `${secret} is kept in the clear`,
      )
    }
  })
})
