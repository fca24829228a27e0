import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { kinds } from '#contract/kinds/index.ts'
import { operations, type Operation } from '#contract/operations.ts'
import { createResource, onEachStore } from '../support/each-store.ts'
import { newMember, type Member } from '../support/members.ts'
import { targets } from '../support/secret-bodies.ts'
import { secretText } from '../support/secrets.ts'
import { creatable, Seeds } from '../support/seeds.ts'
import { Caller } from '../support/server.ts'

const ownable = creatable.filter(
  name => ('owner_id' in kinds[name].shape && kinds[name].owned !== true) || kinds[name].parent !== undefined,
)

/** Actions with a body only answer a question. */
const isQuestion = ({ does, input }: Operation): boolean => 'action' in does && input !== undefined

const isChange = (operation: Operation): boolean => {
  const { method, does } = operation
  return method !== 'GET' && !('verb' in does && does.verb === 'create') && !isQuestion(operation)
}

/** What callers put where the contract knows of no secret; unlike a secret it is kept in the clear. */
const TOKEN = 'a-token-of-some-service'

/** The same target with secrets wherever its URL can have them. */
const withSecretUrls = (target: object): object =>
  Object.fromEntries(
    Object.entries(target).map(([name, value]) => [
      name,
      String(value).startsWith('http')
        ? `https://user:${TOKEN}@hooks.example.com/${TOKEN}?key=${TOKEN}`
        : value,
    ]),
  )

onEachStore('members', api => {
  let owner: Member
  let colleague: Member
  let own: Seeds
  before(async () => {
    owner = await newMember(api())
    colleague = await newMember(api())
    own = new Seeds(new Caller(api().url, owner.token))
  })

  const call = (method: string, path: string, body: unknown, { token }: Member) =>
    api().call(method, path, { token, ...(body !== undefined && { body }) })

  for (const collection of ownable)
    test(`read ${collection} of a colleague, and cannot change them`, async () => {
      const kind = kinds[collection]
      const created = await own.make(collection)
      const id = String(created[kind.key])
      const base = await own.path(collection)
      const address = `${base}/${id}`
      const read = await call('GET', address, undefined, colleague)
      assert.equal(read.status, 200)
      const standing = (await api().get(address)).body
      for (const operation of operations.filter(each => each.kind === kind && isChange(each))) {
        const path = operation.path.replace(kind.path, base).replace(/\{(id|type)\}/, id)
        const body =
          'module' in operation.does && operation.input && (await own.module(operation.does.module))
        const answer = await call(operation.method, path, operation.input ? body || {} : undefined, colleague)
        assert.deepEqual(
          [answer.status, answer.body?.error_code],
          [403, 'ERR_ADIT_90251'],
          `${operation.id}: ${JSON.stringify(answer.body)}`,
        )
      }
      assert.deepEqual((await api().get(address)).body, standing, 'nothing may have changed')
    })

  test('cannot add to what a colleague owns', async () => {
    const edge = await own.make('https_edges')
    const policy = await own.make('ip_policies')
    const subscription = await own.make('event_subscriptions')
    for (const [path, body] of [
      [`/edges/https/${String(edge['id'])}/routes`, { match_type: 'path_prefix', match: '/' }],
      ['/ip_policy_rules', { ip_policy_id: policy['id'], cidr: '10.0.0.0/8', action: 'allow' }],
      [`/event_subscriptions/${String(subscription['id'])}/sources`, { type: 'ip_policy_created.v0' }],
    ] as const) {
      const refused = await call('POST', path, body, colleague)
      assert.deepEqual([refused.status, refused.body.error_code], [403, 'ERR_ADIT_90251'], path)
      assert.equal((await call('POST', path, body, owner)).status, 201, path)
    }
  })

  test('use what a colleague owns only where that gives nothing away, or when it is shared', async () => {
    const id = async (collection: Parameters<Seeds['make']>[0]) => String((await own.make(collection))['id'])
    const domain = await own.make('reserved_domains', { name: 'bank' })
    const wildcard = await own.make('reserved_domains', { name: undefined, domain: '*.victim.example' })
    const addr = await own.make('reserved_addrs')
    const backend = await id('http_response_backends')
    const authority = await id('ssh_certificate_authorities')
    const sshKey = (await own.body('ssh_user_certificates'))['public_key']
    const cases: [path: string, body: object, shared: string][] = [
      [
        '/edges/https',
        { hostports: ['bank.adit.localhost:443'] },
        `/reserved_domains/${String(domain['id'])}`,
      ],
      [
        '/edges/tls',
        { hostports: ['pay.victim.example:443'] },
        `/reserved_domains/${String(wildcard['id'])}`,
      ],
      ['/edges/tcp', { hostports: [addr['addr']] }, `/reserved_addrs/${String(addr['id'])}`],
      ['/edges/tcp', { backend: { backend_id: backend } }, `/backends/http_response/${backend}`],
      ['/backends/weighted', { backends: { [backend]: 1 } }, `/backends/http_response/${backend}`],
      [
        '/ssh_user_certificates',
        { ssh_certificate_authority_id: authority, public_key: sshKey },
        `/ssh_certificate_authorities/${authority}`,
      ],
      [
        '/reserved_domains',
        { domain: 'login.victim.example' },
        `/reserved_domains/${String(wildcard['id'])}`,
      ],
    ]
    for (const [path, body, shared] of cases) {
      await api().patch(shared, { owner_id: owner.user.id })
      const refused = await call('POST', path, body, colleague)
      assert.deepEqual(
        [refused.status, refused.body.error_code],
        [403, path === '/reserved_domains' ? 'ERR_ADIT_90260' : 'ERR_ADIT_90252'],
        `${path} ${JSON.stringify(body)}: ${JSON.stringify(refused.body)}`,
      )
      assert.equal((await call('PATCH', shared, { owner_id: null }, owner)).status, 200)
      const allowed = await call('POST', path, body, colleague)
      assert.equal(allowed.status, 201, JSON.stringify(allowed.body))
    }
    const policy = await id('ip_policies')
    const edge = await call('POST', '/edges/tcp', { ip_restriction: { ip_policy_ids: [policy] } }, colleague)
    assert.equal(edge.status, 201, JSON.stringify(edge.body))
  })

  test('do not read the secrets of a colleague', async () => {
    const edge = await own.make('https_edges')
    const secret = secretText('oidc')
    const oidc = { issuer: 'https://id.example.com', client_id: 'own', client_secret: secret }
    const routes = `/edges/https/${String(edge['id'])}/routes`
    const route = { match_type: 'path_prefix', match: '/', oidc }
    const created = await call('POST', routes, route, owner)
    assert.equal(created.body.oidc.client_secret, secret)
    const shown = async (reader: Member) => {
      const read = async (path: string) => (await call('GET', path, undefined, reader)).body
      return [
        (await read(`${routes}/${created.body.id}`)).oidc.client_secret,
        (await read(`${routes}/${created.body.id}/oidc`)).client_secret,
        (await read(routes)).routes[0].oidc.client_secret,
        (await read(`/edges/https/${String(edge['id'])}`)).routes[0].oidc.client_secret,
      ]
    }
    assert.deepEqual(await shown(owner), [secret, secret, secret, secret])
    assert.deepEqual(await shown(colleague), ['', '', '', ''])
    await call('PATCH', `/edges/https/${String(edge['id'])}`, { owner_id: null }, owner)
    assert.deepEqual(await shown(colleague), ['', '', '', ''], 'sharing does not reveal secrets')
    const admin = { ...owner, token: api().token }
    assert.deepEqual(await shown(admin), [secret, secret, secret, secret])
  })

  test('do not read what a colleague puts into headers, policies and URLs, and events do not contain it', async () => {
    const add = { 'x-api-token': TOKEN }
    const rule = { actions: [{ type: 'add-headers', config: { headers: add } }] }
    const edge = await own.make('https_edges')
    const cases: [path: string, body: object][] = [
      ['/endpoint_configurations', { type: 'http', request_headers: { add }, response_headers: { add } }],
      [
        `/edges/https/${String(edge['id'])}/routes`,
        { match_type: 'path_prefix', match: '/', request_headers: { add }, policy: { inbound: [rule] } },
      ],
      ['/edges/tcp', { traffic_policy: { value: TOKEN }, policy: { outbound: [rule] } }],
      ...['webhook', 'otlp', 'azure_logs_ingestion'].map((name): [string, object] => {
        const target = withSecretUrls(targets()[name] ?? {})
        return ['/event_destinations', { target: { [name]: target } }]
      }),
    ]
    for (const [path, body] of cases) {
      const created = await call('POST', path, body, owner)
      assert.equal(created.status, 201, JSON.stringify(created.body))
      const address = `${path}/${created.body.id}`
      const shown = JSON.stringify((await call('GET', address, undefined, owner)).body)
      assert.ok(shown.includes(TOKEN), 'its owner reads it')
      for (const each of [address, path]) {
        const masked = JSON.stringify((await call('GET', each, undefined, colleague)).body)
        assert.ok(!masked.includes(TOKEN), masked)
      }
      assert.equal((await call('PATCH', address, { description: 'x' }, owner)).status, 200)
      assert.equal((await call('DELETE', address, undefined, owner)).status, 204)
      const reported = (await api().get(`/audit_events?object_id=${created.body.id}`)).body.audit_events
      assert.equal(reported.length, 3)
      assert.ok(!JSON.stringify(reported).includes(TOKEN), JSON.stringify(reported))
    }
  })

  test('do not get the ids of what a colleague owns when they are refused', async () => {
    const domain = await own.make('reserved_domains', { name: 'taken' })
    const ingress = await own.make('agent_ingresses', { domain: 'taken.example.com' })
    const used = await createResource(api(), '/backends/http_response', { owner_id: null })
    const user = await own.make('failover_backends', { backends: [used.id] })
    const edge = await own.make('tcp_edges', { hostports: ['any.test:9777'] })
    for (const [method, path, body, code, id] of [
      ['POST', '/reserved_domains', { name: 'taken' }, 413, domain['id']],
      ['POST', '/agent_ingresses', { domain: 'taken.example.com' }, 6706, ingress['id']],
      ['DELETE', `/backends/http_response/${used.id}`, undefined, 6502, user['id']],
      ['POST', '/edges/tcp', { hostports: ['any.test:9777'] }, 7122, edge['id']],
    ] as const) {
      const refused = await call(method, path, body, colleague)
      assert.deepEqual([refused.status, refused.body.error_code], [400, `ERR_ADIT_${code}`], path)
      assert.ok(!refused.body.msg.includes(String(id)), refused.body.msg)
      const admin = await api().call(method, path, body ? { body } : {})
      assert.ok(admin.body.msg.includes(String(id)), admin.body.msg)
    }
  })

  test('change what is shared, and what an earlier release has made', async () => {
    const shared = await createResource(api(), '/ip_policies', { owner_id: null })
    const changed = await call('PATCH', `/ip_policies/${shared.id}`, { description: 'ours' }, colleague)
    assert.equal(changed.status, 200)
    assert.equal((await call('DELETE', `/ip_policies/${shared.id}`, undefined, colleague)).status, 204)
  })
})
