import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { createClient } from '#client/client.ts'
import { assertRefused, createResource, onEachStore } from '../support/each-store.ts'
import { newMember } from '../support/members.ts'

onEachStore('the check of an address', api => {
  let office: string
  let extra: string
  let rules: Record<string, string>

  const rule = async (policy: string, cidr: string, action: string): Promise<string> =>
    String((await createResource(api(), '/ip_policy_rules', { ip_policy_id: policy, cidr, action })).id)

  before(async () => {
    office = String((await createResource(api(), '/ip_policies')).id)
    extra = String((await createResource(api(), '/ip_policies')).id)
    rules = {
      wide: await rule(office, '10.0.0.0/8', 'allow'),
      narrow: await rule(office, '10.1.0.0/16', 'allow'),
      six: await rule(office, '2001:db8::/32', 'allow'),
      denied: await rule(extra, '10.1.2.0/24', 'deny'),
    }
  })

  test('names the narrowest rule of a policy that decides', async () => {
    const { status, body } = await api().post(`/ip_policies/${office}/check`, { ip: '10.1.2.3' })
    assert.equal(status, 200)
    assert.deepEqual(body, {
      ip: '10.1.2.3',
      allowed: true,
      rule: { id: rules['narrow'], ip_policy_id: office, cidr: '10.1.0.0/16', action: 'allow' },
      reason: 'An allow rule matches, and no deny rule.',
    })
    const wide = await api().post(`/ip_policies/${office}/check`, { ip: '::ffff:10.2.0.1' })
    assert.deepEqual([wide.body.allowed, wide.body.rule.id], [true, rules['wide']])
    const six = await api().post(`/ip_policies/${office}/check`, { ip: '2001:DB8:0::1' })
    assert.deepEqual([six.body.ip, six.body.rule.id], ['2001:db8::1', rules['six']])
  })

  test('reports that no rule matches', async () => {
    const { body } = await api().post(`/ip_policies/${office}/check`, { ip: '192.0.2.1' })
    assert.deepEqual([body.allowed, body.rule], [false, null])
    assert.match(body.reason, /^No rule matches\./)
  })

  test('is the same for members, who read policies, and for the typed client', async () => {
    const { token } = await newMember(api())
    const client = createClient({ url: api().url, token })
    const { allowed, rule: found } = await client.ip_policies.check(extra, { ip: '10.1.2.3' })
    assert.deepEqual([allowed, found?.id], [false, rules['denied']])
  })

  test('of a restriction joins its policies, in which deny wins, and is for admins', async () => {
    const { id } = await createResource(api(), '/ip_restrictions', {
      type: 'endpoints',
      enforced: false,
      ip_policy_ids: [office, extra],
    })
    const path = `/ip_restrictions/${id}/check`
    const denied = await api().post(path, { ip: '10.1.2.3' })
    assert.deepEqual(
      [denied.body.allowed, denied.body.enforced, denied.body.rule.id, denied.body.rule.ip_policy_id],
      [false, false, rules['denied'], extra],
    )
    assert.equal((await api().post(path, { ip: '10.1.3.3' })).body.allowed, true)
    const { token } = await newMember(api())
    assert.equal((await api().post(path, { ip: '10.1.3.3' }, { token })).status, 403)
  })

  test('rejects what is not an address, and unknown policies', async () => {
    const path = `/ip_policies/${office}/check`
    for (const ip of ['', 'localhost', '10.0.0.0/8', '300.1.1.1'])
      await assertRefused(api(), { path, body: { ip }, code: 90_430, says: /is not an IPv4 or IPv6 address/ })
    await assertRefused(api(), { path, body: {}, code: 215, field: 'ip' })
    await assertRefused(api(), { path, body: { ip: '10.0.0.1', extra: 1 }, code: 214 })
    const unknown = `/ip_policies/ipp_${'0'.repeat(27)}/check`
    await assertRefused(api(), { path: unknown, body: { ip: '10.0.0.1' }, status: 404, code: undefined })
  })
})
