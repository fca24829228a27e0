import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourceBody } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import { kinds, type Collection } from '#contract/kinds/index.ts'
import { assertRefused, createResource, onBothStores } from '../support/each-store.ts'
import { targetUrls } from '../support/secret-bodies.ts'
import { MARKER, secretText } from '../support/secrets.ts'
import { creatable, Seeds } from '../support/seeds.ts'
import type { Caller } from '../support/server.ts'

/** What events call each kind that a caller can make. Sources have none of their own: their subscription changes. */
const names: Readonly<Partial<Record<Collection, string>>> = {
  abuse_reports: 'abuse_report',
  agent_ingresses: 'agent_ingress',
  api_keys: 'api_key',
  bot_users: 'bot_user',
  captures: 'capture',
  certificate_authorities: 'certificate_authority',
  credentials: 'tunnel_credential',
  endpoint_configurations: 'endpoint_configuration',
  event_destinations: 'event_destination',
  event_subscriptions: 'event_subscription',
  failover_backends: 'failover_backend',
  http_response_backends: 'http_response_backend',
  https_edge_routes: 'https_edge_route',
  https_edges: 'https_edge',
  ip_policies: 'ip_policy',
  ip_policy_rules: 'ip_policy_rule',
  ip_restrictions: 'ip_restriction',
  reserved_addrs: 'tcp_address',
  reserved_domains: 'domain',
  service_users: 'service_user',
  ssh_certificate_authorities: 'ssh_certificate_authority',
  ssh_credentials: 'ssh_public_key',
  ssh_host_certificates: 'ssh_host_certificate',
  ssh_user_certificates: 'ssh_user_certificate',
  static_backends: 'static_backend',
  tcp_edges: 'tcp_edge',
  tls_certificates: 'tls_certificate',
  tls_edges: 'tls_edge',
  tunnel_group_backends: 'tunnel_group_backend',
  users: 'user',
  weighted_backends: 'weighted_backend',
}

const signIn = () => ({
  oidc: { issuer: 'https://id.example.com', client_id: 'c', client_secret: secretText('oidc') },
})

/** Secrets of those that have some: the API shows them to callers, or shows that there is one, and events do neither. */
const secrets: Readonly<Partial<Record<Collection, () => ResourceBody>>> = {
  endpoint_configurations: signIn,
  event_destinations: () => ({
    target: { webhook: { url: 'https://events.example.com', secret: secretText('webhook') } },
  }),
  https_edge_routes: signIn,
}

interface Told {
  readonly type: string
  readonly object: ResourceBody
}

/** All events of a resource, oldest first, without their times. */
async function reportOf(api: Caller, id: unknown): Promise<Told[]> {
  const { body } = await api.get(`/audit_events?object_id=${String(id)}&limit=100`)
  const events = body.audit_events as Told[]
  return events
    .filter(({ type }) => !/_(expiring|expired)\.v0$/.test(type))
    .map(({ type, object }) => ({ type, object }))
    .toReversed()
}

/** The same with every secret masked, as events show it; of the URL of a destination only the origin is left. */
const masked = (body: unknown): ResourceBody =>
  JSON.parse(JSON.stringify(body), (name, value: unknown) => {
    if (typeof value !== 'string') return value
    if (targetUrls.has(name)) return new URL('/', value).href
    return value.includes(MARKER) ? '' : value
  }) as ResourceBody

/** What the API shows, for an event to be held against. */
async function shown(api: Caller, path: string): Promise<ResourceBody> {
  const answer = await api.get(path)
  assert.equal(answer.status, 200, path)
  return masked(answer.body)
}

onBothStores('every change', api => {
  test('has a name in this file, whatever is changed', () => {
    assert.deepEqual(
      Object.keys(names).toSorted(),
      creatable.filter(one => one !== 'event_sources').toSorted(),
    )
  })

  for (const [collection, name] of Object.entries(names) as [Collection, string][]) {
    const { shape, verbs }: Kind = kinds[collection]

    test(`of ${collection} is the event ${name}, with the resource as it then was`, async () => {
      const seeds = new Seeds(api())
      const { id } = await seeds.make(collection, secrets[collection]?.())
      const path = `${await seeds.path(collection)}/${String(id)}`
      const expected: Told[] = [{ type: `${name}_created.v0`, object: await shown(api(), path) }]
      assert.deepEqual(await reportOf(api(), id), expected)
      if (!verbs.includes('update')) return

      const change = 'metadata' in shape ? { metadata: 'changed' } : { name: 'changed' }
      assert.equal((await api().patch(path, change)).status, 200)
      const object = await shown(api(), path)
      assert.notDeepEqual(object, expected[0]?.object)
      expected.push({ type: `${name}_updated.v0`, object })
      assert.deepEqual(await reportOf(api(), id), expected)

      assert.equal((await api().delete(path)).status, 204)
      expected.push({ type: `${name}_deleted.v0`, object })
      assert.deepEqual(await reportOf(api(), id), expected)
    })
  }

  test('of a source is an event of its subscription', async () => {
    const { id } = await createResource(api(), '/event_subscriptions')
    const path = `/event_subscriptions/${id}`
    const source = `${path}/sources/http_request_complete.v0`
    const type = 'event_subscription_updated.v0'
    const expected = await reportOf(api(), id)
    const steps = [
      () => api().post(`${path}/sources`, { type: 'http_request_complete.v0' }),
      () => api().patch(source, { fields: ['conn.client_ip'] }),
      () => api().delete(source),
    ]
    for (const step of steps) {
      assert.ok((await step()).status < 300)
      expected.push({ type, object: await shown(api(), path) })
    }
    assert.deepEqual(await reportOf(api(), id), expected)
    assert.equal(expected.length, 4)
  })

  test('of a module is an event of its parent, with its secret masked', async () => {
    const edge = await createResource(api(), '/edges/https')
    const route = await createResource(api(), `/edges/https/${edge.id}/routes`, {
      match_type: 'exact_path',
      match: '/',
    })
    const path = `/edges/https/${edge.id}/routes/${route.id}`
    const expected = await reportOf(api(), route.id)
    const type = 'https_edge_route_updated.v0'
    const module = { provider: 'github', secret: secretText('hook') }
    assert.equal((await api().put(`${path}/webhook_verification`, module)).status, 200)
    const withModule = await shown(api(), path)
    assert.equal((await api().delete(`${path}/webhook_verification`)).status, 204)
    expected.push({ type, object: withModule }, { type, object: await shown(api(), path) })
    assert.deepEqual(await reportOf(api(), route.id), expected)
    assert.equal((withModule['webhook_verification'] as ResourceBody)['secret'], '')
  })

  test('of an edge masks the secrets of the routes that are shown inside of it', async () => {
    const edge = await createResource(api(), '/edges/https')
    const path = `/edges/https/${edge.id}`
    const hook = { webhook_verification: { provider: 'github', secret: secretText('hook') } }
    const body = { match_type: 'exact_path', match: '/', ...signIn(), ...hook }
    await createResource(api(), `${path}/routes`, body)
    assert.equal((await api().patch(path, { metadata: 'changed' })).status, 200)
    const object = await shown(api(), path)
    assert.equal((await api().delete(path)).status, 204)
    const [, updated, deleted] = await reportOf(api(), edge.id)
    assert.deepEqual(updated, { type: 'https_edge_updated.v0', object })
    assert.deepEqual(deleted, { type: 'https_edge_deleted.v0', object })
  })

  test('that is rejected is not an event', async () => {
    const policy = await createResource(api(), '/ip_policies')
    const rule = { ip_policy_id: policy.id, cidr: 'nonsense', action: 'allow' }
    await createResource(api(), '/ip_restrictions', { type: 'endpoints', ip_policy_ids: [policy.id] })
    const log = ['/audit_events?limit=1']
    await assertRefused(api(), { path: '/ip_policy_rules', body: rule, code: 1406 }, log)
    const long = { metadata: 'x'.repeat(5000) }
    const path = `/ip_policies/${policy.id}`
    await assertRefused(api(), { method: 'PATCH', path, body: long, code: 215 }, log)
    await assertRefused(api(), { method: 'DELETE', path, code: 1420 }, log)
  })
})
