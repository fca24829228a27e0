import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createResource, onEachStore } from '../../support/each-store.ts'
import { browserOf, postLogin } from '../../support/dashboard.ts'

onEachStore('an IP restriction of type dashboard', api => {
  test('SEC-restriction: rejects browsers, before and after sign-in, and no API keys', async () => {
    const browser = await browserOf(api())
    const policy = await createResource(api(), '/ip_policies')
    await createResource(api(), '/ip_policy_rules', {
      cidr: '192.0.2.0/24',
      action: 'allow',
      ip_policy_id: policy.id,
    })
    const restriction = await createResource(api(), '/ip_restrictions', {
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
    for (const path of ['/', '/dashboard', '/dashboard/requests', '/dashboard/oidc']) {
      const page = await fetch(api().url + path, { headers: { accept: 'text/html' } })
      assert.deepEqual([page.status, page.headers.get('content-type')], [403, 'text/html; charset=utf-8'])
      assert.match(
        page.headers.get('content-security-policy') ?? '',
        /^default-src 'none';.*frame-ancestors 'none'/,
      )
      const text = await page.text()
      assert.match(text, /<h1>Not allowed<\/h1>[^]*ERR_ADIT_90455/)
      assert.doesNotMatch(text, /<script|http-equiv="refresh"/)
    }

    await api().patch(`/ip_restrictions/${restriction.id}`, { enforced: false })
    assert.equal((await browser.get('/self')).status, 200)
    await api().delete(`/ip_restrictions/${restriction.id}`)
  })

  test('cannot lock out the browser that makes or changes it; a key still can', async () => {
    const browser = await browserOf(api())
    const policy = await createResource(api(), '/ip_policies')
    const given = { type: 'dashboard', enforced: true, ip_policy_ids: [policy.id] }
    const refused = await browser.post('/ip_restrictions', given)
    assert.deepEqual([refused.status, refused.body.error_code], [400, 'ERR_ADIT_90001'])
    const rule = { cidr: '127.0.0.0/8', action: 'allow', ip_policy_id: policy.id }
    const allowing = await createResource(api(), '/ip_policy_rules', rule)
    const created = await browser.post('/ip_restrictions', given)
    assert.equal(created.status, 201, JSON.stringify(created.body))
    const denying = { ...rule, cidr: '127.0.0.1/32', action: 'deny' }
    assert.equal((await browser.post('/ip_policy_rules', denying)).body.error_code, 'ERR_ADIT_90001')
    const removed = await browser.delete(`/ip_policy_rules/${allowing.id}`)
    assert.deepEqual([removed.status, removed.body.error_code], [400, 'ERR_ADIT_1419'])

    assert.equal((await api().delete(`/ip_policy_rules/${allowing.id}`)).status, 204)
    assert.equal((await browser.get('/self')).status, 403)
    await api().delete(`/ip_restrictions/${created.body.id}`)
  })

  test('leaves browsers to it: one of type api is for keys', async () => {
    const browser = await browserOf(api())
    const policy = await createResource(api(), '/ip_policies')
    await createResource(api(), '/ip_policy_rules', {
      cidr: '127.0.0.0/8',
      action: 'allow',
      ip_policy_id: policy.id,
    })
    await createResource(api(), '/ip_restrictions', {
      type: 'api',
      enforced: true,
      ip_policy_ids: [policy.id],
    })
    assert.equal((await browser.get('/self')).status, 200)
    assert.equal((await api().get('/self')).status, 200)
  })
})
