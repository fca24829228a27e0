import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import type { ResourceBody } from '#contract/body.ts'
import { createResource, onEachStore } from '../support/each-store.ts'
import { Seeds } from '../support/seeds.ts'
import { Caller } from '../support/server.ts'

interface Told {
  readonly type: string
  readonly object: ResourceBody
  readonly principal: ResourceBody
}

const newest = async (api: Caller, count: number): Promise<Told[]> =>
  ((await api.get(`/audit_events?limit=${count}`)).body.audit_events as Told[]).toReversed()

/** Type and object of each event. */
const named = (events: readonly Told[]): string[] =>
  events.map(({ type, object }) => `${type} ${String(object['id'])}`)

/** Creates, updates and deletes a policy; resolves to the principal of each event. */
async function principals(admin: Caller, caller: Caller): Promise<ResourceBody[]> {
  const { id } = await createResource(caller, '/ip_policies')
  assert.equal((await caller.patch(`/ip_policies/${id}`, { metadata: 'x' })).status, 200)
  assert.equal((await caller.delete(`/ip_policies/${id}`)).status, 204)
  const events = await newest(admin, 3)
  assert.deepEqual(
    named(events),
    ['created', 'updated', 'deleted'].map(what => `ip_policy_${what}.v0 ${id}`),
  )
  return events.map(({ principal }) => principal)
}

/** A call from another address of this machine. */
async function createFrom(localAddress: string, { url, token }: Caller): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const asked = request(`${url}/ip_policies`, { method: 'POST', localAddress, headers, agent: false })
  const [response] = (await once(asked.end('{}'), 'response')) as [IncomingMessage]
  await response.resume().toArray()
  return response.statusCode
}

onEachStore('who changed something', api => {
  /** Who a key of this owner is. */
  async function keyOf(owner: ResourceBody, subject: string) {
    const key = await createResource(api(), '/api_keys', { owner_id: owner['id'] })
    const credential = { id: key.id, uri: `${api().url}/api_keys/${key.id}` }
    const who = { id: owner['id'], subject, source: 'API', credential, ip: '127.0.0.1' }
    return { caller: new Caller(api().url, key.token), who }
  }

  test('is named for the key of a user, with the e-mail address', async () => {
    const {
      users: [admin],
    } = (await api().get('/users')).body
    const {
      keys: [key],
    } = (await api().get('/api_keys')).body
    const credential = { id: key.id, uri: `${api().url}/api_keys/${key.id}` }
    const first = { id: admin.id, subject: 'admin@localhost', source: 'API', credential, ip: '127.0.0.1' }
    assert.deepEqual(await principals(api(), api()), [first, first, first])

    const member = await createResource(api(), '/users', { email: 'ann@example.com', name: 'Ann' })
    const { caller, who } = await keyOf(member, 'ann@example.com')
    assert.deepEqual(await principals(api(), caller), [who, who, who])
  })

  for (const path of ['/bot_users', '/service_users'])
    test(`is named for the key of one of ${path}, with its name`, async () => {
      const { caller, who } = await keyOf(await createResource(api(), path, { name: 'deployer' }), 'deployer')
      assert.deepEqual(await principals(api(), caller), [who, who, who])
      const other = await keyOf({ id: who.id }, 'deployer')
      assert.notEqual(other.who.credential.id, who.credential.id)
      assert.deepEqual((await principals(api(), other.caller))[0], other.who)
    })

  test('is named with the client address', async () => {
    const { caller, who } = await keyOf(await createResource(api(), '/bot_users', { name: 'far' }), 'far')
    assert.equal(await createFrom('127.0.0.2', caller), 201)
    const [event] = await newest(api(), 1)
    assert.deepEqual(event?.principal, { ...who, ip: '127.0.0.2' })
  })

  test('stays named when the key and its owner are deleted', async () => {
    const bot = await createResource(api(), '/bot_users', { name: 'brief' })
    const { caller, who } = await keyOf(bot, 'brief')
    const { id } = await createResource(caller, '/ip_policies')
    assert.equal((await api().delete(`/bot_users/${bot.id}`)).status, 204)
    const { audit_events: events } = (await api().get(`/audit_events?object_id=${id}`)).body
    assert.deepEqual(events[0].principal, who)
  })
})

onEachStore('what goes together with something else', api => {
  /** Deletes it, and returns the events of that, all by the same principal. */
  async function removed(path: string, count: number): Promise<Told[]> {
    const [earlier] = await newest(api(), 1)
    assert.equal((await api().delete(path)).status, 204)
    const [last, ...events] = await newest(api(), count + 1)
    assert.deepEqual(last, earlier, `there were not ${count} events`)
    for (const { principal } of events) assert.deepEqual(principal, earlier?.principal)
    return events
  }

  test('has its event before it: the rules of a policy', async () => {
    const policy = await createResource(api(), '/ip_policies')
    const rules: ResourceBody[] = []
    for (const cidr of ['10.0.0.0/8', '192.168.0.0/16'])
      rules.push(
        await createResource(api(), '/ip_policy_rules', { cidr, ip_policy_id: policy.id, action: 'allow' }),
      )
    const events = await removed(`/ip_policies/${policy.id}`, 3)
    const byId = (one: Told, other: Told) => (String(one.object['id']) < String(other.object['id']) ? -1 : 1)
    assert.deepEqual(
      events
        .slice(0, 2)
        .toSorted(byId)
        .map(({ type, object }) => ({ type, object })),
      rules.map(object => ({ type: 'ip_policy_rule_deleted.v0', object })),
    )
    assert.deepEqual(named(events.slice(2)), [`ip_policy_deleted.v0 ${policy.id}`])
  })

  test('has its event before it: the routes of an edge, which the edge still shows', async () => {
    const edge = await createResource(api(), '/edges/https')
    const path = `/edges/https/${edge.id}`
    const route = await createResource(api(), `${path}/routes`, { match_type: 'exact_path', match: '/' })
    const events = await removed(path, 2)
    assert.deepEqual(named(events), [
      `https_edge_route_deleted.v0 ${route.id}`,
      `https_edge_deleted.v0 ${edge.id}`,
    ])
    assert.deepEqual(events[0]?.object, route)
    assert.deepEqual(events[1]?.object['routes'], [route])
  })

  for (const [path, type] of [
    ['/users', 'user'],
    ['/bot_users', 'bot_user'],
    ['/service_users', 'service_user'],
  ] as const)
    test(`has its event before it: what one of ${path} owns`, async () => {
      const email = type === 'user' ? { email: 'leaving@example.com' } : {}
      const owner = await createResource(api(), path, email)
      const seeds = new Seeds(api())
      const owned: string[] = []
      for (const [collection, name] of [
        ['api_keys', 'api_key'],
        ['credentials', 'tunnel_credential'],
        ['ssh_credentials', 'ssh_public_key'],
      ] as const) {
        const { id } = await seeds.make(collection, { owner_id: owner.id })
        owned.push(`${name}_deleted.v0 ${String(id)}`)
      }
      const events = named(await removed(`${path}/${owner.id}`, 4))
      assert.deepEqual(events.slice(0, 3).toSorted(), owned.toSorted())
      assert.deepEqual(events.slice(3), [`${type}_deleted.v0 ${owner.id}`])
    })

  test('has no second event: the sources of a subscription are part of it', async () => {
    const sources = [{ type: 'ip_policy_created.v0' }, { type: 'ip_policy_deleted.v0' }]
    const subscription = await createResource(api(), '/event_subscriptions', { sources })
    const events = await removed(`/event_subscriptions/${subscription.id}`, 1)
    assert.deepEqual(named(events), [`event_subscription_deleted.v0 ${subscription.id}`])
    assert.deepEqual(events[0]?.object, subscription)
  })
})
