import assert from 'node:assert/strict'
import { test } from 'node:test'
import { made, onEachStore } from '../../support/each-store.ts'
import { browserOf, postLogin } from '../../support/dashboard.ts'

onEachStore('an IP restriction of type dashboard', api => {
  test('SEC-restriction: rejects browsers, before and after sign-in, and no API keys', async () => {
    const browser = await browserOf(api())
    const policy = await made(api(), '/ip_policies')
    await made(api(), '/ip_policy_rules', {
      cidr: '192.0.2.0/24',
      action: 'allow',
      ip_policy_id: policy.id,
    })
    const restriction = await made(api(), '/ip_restrictions', {
      type: 'dashboard',
      enforced: true,
      ip_policy_ids: [policy.id],
    })
    const denied = [
      await browser.get('/self'),
      await browser.post('/ip_policies', {}),
      await browser.get('/dashboard/session'),
      await browser.post('/dashboard/logout'),
      await postLogin(api(), { token: 'any' }),
      await api().post('/dashboard/link'),
    ]
    for (const { status, body } of denied)
      assert.deepEqual([status, body.error_code], [403, 'ERR_ADIT_90455'], body.msg)
    assert.equal((await api().get('/self')).status, 200)

    await api().patch(`/ip_restrictions/${restriction.id}`, { enforced: false })
    assert.equal((await browser.get('/self')).status, 200)
  })

  test('leaves browsers to it: one of type api is for keys', async () => {
    const browser = await browserOf(api())
    const policy = await made(api(), '/ip_policies')
    await made(api(), '/ip_policy_rules', { cidr: '127.0.0.0/8', action: 'allow', ip_policy_id: policy.id })
    await made(api(), '/ip_restrictions', { type: 'api', enforced: true, ip_policy_ids: [policy.id] })
    assert.equal((await browser.get('/self')).status, 200)
    assert.equal((await api().get('/self')).status, 200)
  })
})
