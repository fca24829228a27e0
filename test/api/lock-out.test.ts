import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import { createResource, onEachStore } from '../support/each-store.ts'
import { newMember } from '../support/members.ts'
import type { Caller } from '../support/server.ts'

interface Sent {
  readonly method: string
  readonly path: string
  readonly body?: object
  readonly token?: string
}

interface Got {
  readonly status: number
  readonly code: string | undefined
}

/** Calls from another address of this machine. */
async function callFrom(localAddress: string, api: Caller, sent: Sent): Promise<Got> {
  const { method, path, body, token = api.token } = sent
  const outgoing = request(api.url + path, {
    method,
    localAddress,
    agent: false,
    headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
  }).end(body && JSON.stringify(body))
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const status = response.statusCode ?? 0
  const answer = status === 204 ? {} : ((await json(response)) as { error_code?: string })
  return { status, code: answer.error_code }
}

const OTHER = '127.0.0.3'

/** An enforced restriction on calls that allows loopback and another address. */
async function restricted(api: Caller) {
  const policy = await createResource(api, '/ip_policies', { owner_id: null })
  const allow = (cidr: string) =>
    createResource(api, '/ip_policy_rules', { cidr, action: 'allow', ip_policy_id: policy.id })
  const loopback = await allow('127.0.0.1/32')
  const other = await allow(`${OTHER}/32`)
  const restriction = await createResource(api, '/ip_restrictions', {
    type: 'api',
    enforced: true,
    ip_policy_ids: [policy.id],
  })
  return { policy, loopback, other, restriction }
}

onEachStore('a change that would lock admins out', api => {
  const rules = () => api().get('/ip_policy_rules')

  test('is rejected where it denies loopback, and changes nothing', async () => {
    const { policy, loopback, other, restriction } = await restricted(api())
    const elsewhere = await createResource(api(), '/ip_policies')
    await createResource(api(), '/ip_policy_rules', {
      cidr: `${OTHER}/32`,
      action: 'allow',
      ip_policy_id: elsewhere.id,
    })
    const standing = (await rules()).body
    const rule = (cidr: string) => ({ cidr, action: 'deny', ip_policy_id: policy.id })
    const changes: Sent[] = [
      { method: 'POST', path: '/ip_policy_rules', body: rule('127.0.0.0/31') },
      { method: 'PATCH', path: `/ip_policy_rules/${loopback.id}`, body: { cidr: '192.0.2.0/24' } },
      { method: 'DELETE', path: `/ip_policy_rules/${loopback.id}` },
      {
        method: 'PATCH',
        path: `/ip_restrictions/${restriction.id}`,
        body: { ip_policy_ids: [elsewhere.id] },
      },
    ]
    for (const sent of changes) {
      const got = await callFrom(OTHER, api(), sent)
      assert.deepEqual(got, { status: 400, code: 'ERR_ADIT_90253' }, JSON.stringify(sent))
    }
    assert.deepEqual((await rules()).body, standing)
    assert.deepEqual((await api().get(`/ip_restrictions/${restriction.id}`)).body, restriction)
    await api().patch(`/ip_restrictions/${restriction.id}`, { enforced: false })
    assert.equal((await api().delete(`/ip_policy_rules/${loopback.id}`)).status, 204)
    const enforced = { method: 'PATCH', path: `/ip_restrictions/${restriction.id}`, body: { enforced: true } }
    assert.deepEqual(await callFrom(OTHER, api(), enforced), { status: 400, code: 'ERR_ADIT_90253' })
    assert.equal((await api().delete(`/ip_restrictions/${restriction.id}`)).status, 204)
    assert.equal((await api().delete(`/ip_policy_rules/${other.id}`)).status, 204)
  })

  for (const type of ['api', 'agent', 'endpoints', 'dashboard'])
    test(`is not a member's to make, in a policy of a restriction of type ${type}`, async () => {
      const { token } = await newMember(api())
      const policy = await createResource(api(), '/ip_policies', { owner_id: null })
      const rule = await createResource(api(), '/ip_policy_rules', {
        cidr: '127.0.0.0/8',
        action: 'allow',
        ip_policy_id: policy.id,
      })
      const restriction = await createResource(api(), '/ip_restrictions', {
        type,
        ip_policy_ids: [policy.id],
      })
      const standing = [(await rules()).body, (await api().get(`/ip_policies/${policy.id}`)).body]
      const opened = { cidr: '0.0.0.0/0', action: 'allow', ip_policy_id: policy.id }
      const changes: Sent[] = [
        { method: 'POST', path: '/ip_policy_rules', body: opened },
        { method: 'PATCH', path: `/ip_policy_rules/${rule.id}`, body: { cidr: '0.0.0.0/0' } },
        { method: 'DELETE', path: `/ip_policy_rules/${rule.id}` },
        { method: 'PATCH', path: `/ip_policies/${policy.id}`, body: { description: 'x' } },
        { method: 'DELETE', path: `/ip_policies/${policy.id}` },
      ]
      for (const sent of changes) {
        const got = await callFrom('127.0.0.1', api(), { ...sent, token })
        assert.deepEqual(got, { status: 403, code: 'ERR_ADIT_630' }, JSON.stringify(sent))
      }
      assert.deepEqual([(await rules()).body, (await api().get(`/ip_policies/${policy.id}`)).body], standing)
      assert.equal((await api().delete(`/ip_restrictions/${restriction.id}`)).status, 204)
      const freed = { method: 'DELETE', path: `/ip_policies/${policy.id}`, token }
      assert.equal((await callFrom('127.0.0.1', api(), freed)).status, 204)
    })

  test('is not caused by one of the dashboard, which does not concern calls', async () => {
    const policy = await createResource(api(), '/ip_policies')
    const rule = { cidr: '192.0.2.0/24', action: 'allow', ip_policy_id: policy.id }
    await createResource(api(), '/ip_policy_rules', rule)
    const body = { type: 'dashboard', enforced: true, ip_policy_ids: [policy.id] }
    const restriction = await createResource(api(), '/ip_restrictions', body)
    await createResource(api(), '/ip_policy_rules', { ...rule, cidr: '127.0.0.0/8', action: 'deny' })
    assert.equal((await api().get('/self')).status, 200)
    assert.equal((await api().delete(`/ip_restrictions/${restriction.id}`)).status, 204)
  })

  test('is rejected where no admin with a key would be left', async () => {
    const { user, api_key: key } = (await api().get('/self')).body
    const users = async () => (await api().get('/users')).body
    const second = await createResource(api(), '/users', { email: 'keyless@example.com', role: 'admin' })
    const standing = await users()
    for (const [method, path, body, code] of [
      ['PATCH', `/users/${user}`, { role: 'member' }, 90002],
      ['PATCH', `/users/${user}`, { active: false }, 90002],
      ['DELETE', `/api_keys/${key.id}`, undefined, 90254],
    ] as const) {
      const answer = await api().call(method, path, body ? { body } : {})
      assert.deepEqual([answer.status, answer.body.error_code], [400, `ERR_ADIT_${code}`], path)
    }
    assert.deepEqual(await users(), standing)
    assert.equal((await api().get(`/api_keys/${key.id}`)).status, 200)
    const spare = await createResource(api(), '/api_keys', { owner_id: second.id })
    assert.equal((await api().delete(`/api_keys/${spare.id}`)).status, 204)
    assert.equal((await api().delete(`/users/${second.id}`)).status, 204)
  })

  test('is rejected where two admins remove each other at the same moment', async () => {
    const first = await newMember(api(), 'admin')
    const second = await newMember(api(), 'admin')
    const { user } = (await api().get('/self')).body
    await api().patch(`/users/${user}`, { role: 'member' }, { token: first.token })
    const statuses = await Promise.all([
      api().delete(`/users/${second.user.id}`, { token: first.token }),
      api().delete(`/users/${first.user.id}`, { token: second.token }),
    ])
    assert.equal(statuses.filter(({ status }) => status === 204).length, 1)
    const left = statuses[0]?.status === 204 ? first : second
    const restored = await api().patch(`/users/${user}`, { role: 'admin' }, { token: left.token })
    assert.equal(restored.status, 200)
  })
})
