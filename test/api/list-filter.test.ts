import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { operations } from '#contract/operations.ts'
import { apiWithAgent } from '../e2e/compat/agent-online.ts'
import { assertRefused, createResource } from '../support/each-store.ts'
import { startServer, type Caller, type TestServer } from '../support/server.ts'

const query = (filter: string): string => `filter=${encodeURIComponent(filter)}`

suite('the filter of a list', () => {
  let server: TestServer
  let api: Caller
  before(async () => {
    server = await startServer()
    api = server.api
    for (const [description, acl] of [
      ['shop', ['bind:shop.example.com']],
      ['Shop of Ann', ['*']],
      ['', []],
    ] as const)
      await createResource(api, '/credentials', {
        description,
        acl,
        metadata: description === '' ? '' : 'web',
      })
    await createResource(api, '/reserved_domains', {
      domain: 'a.example.com',
      resolves_to: [{ value: 'eu' }],
    })
    await createResource(api, '/reserved_domains', { domain: 'b.example.com', region: 'eu' })
  })
  after(() => server[Symbol.asyncDispose]())

  const found = async (path: string, key: string, filter: string, field: string) => {
    const { status, body } = await api.get(`${path}?${query(filter)}`)
    assert.equal(status, 200, JSON.stringify(body))
    assert.equal(body.next_page_uri, null)
    return body[key].map((each: Record<string, unknown>) => each[field]).toReversed()
  }

  // The first agent credential, made at the first start, has a description of its own.
  const first = 'made at the first start'
  const credentials: [filter: string, descriptions: string[]][] = [
    ['obj.description == "shop"', ['shop']],
    ['obj.description != "shop" && obj.metadata == "web"', ['Shop of Ann']],
    ['obj.description.startsWith("shop") || obj.description.endsWith("Ann")', ['shop', 'Shop of Ann']],
    ['obj.description.contains("op o")', ['Shop of Ann']],
    ['"*" in obj.acl', ['Shop of Ann']],
    ['size(obj.acl) > 0 && !("*" in obj.acl)', ['shop']],
    ['size(obj.description) == 4', ['shop']],
    ['obj.description in ["shop", "other"]', ['shop']],
    ['obj.token == null && obj.metadata == "web"', ['shop', 'Shop of Ann']],
    ['obj.created_at > timestamp(time.now).subtract("1h") && obj.metadata == "web"', ['shop', 'Shop of Ann']],
    ['obj.created_at > timestamp(time.now).add("24h")', []],
    ['obj.created_at < timestamp("2020-01-31T12:00:00Z")', []],
    ['obj.description < 5', []],
    ['obj.acl == "x"', []],
  ]
  for (const [filter, descriptions] of credentials)
    test(filter, async () => {
      const names = await found('/credentials', 'credentials', filter, 'description')
      assert.deepEqual(
        names.filter((name: string) => !name.includes(first)),
        descriptions,
      )
    })

  test('selects what is null or inside another object', async () => {
    const domains = (filter: string) => found('/reserved_domains', 'reserved_domains', filter, 'domain')
    assert.deepEqual(await domains('obj.certificate_management_policy != null && obj.region == "eu"'), [
      'b.example.com',
    ])
    assert.deepEqual(await domains('obj.certificate_management_policy.authority == "unknown"'), [])
    assert.deepEqual(await domains('obj.certificate == null'), ['a.example.com', 'b.example.com'])
  })

  test('is the same on every page, and may be empty', async () => {
    const only = query('obj.metadata == "web"')
    const one = await api.get(`/credentials?limit=1&${only}`)
    const two = await api.get(one.body.next_page_uri)
    const three = await api.get(two.body.next_page_uri)
    assert.deepEqual(
      [...one.body.credentials, ...two.body.credentials, ...three.body.credentials].map(
        ({ description }) => description,
      ),
      ['Shop of Ann', 'shop'],
    )
    assert.equal(three.body.next_page_uri, null)
    const all = (await api.get('/credentials')).body.credentials.length
    assert.equal((await api.get('/credentials?filter=')).body.credentials.length, all)
  })

  for (const { kind, path, does } of operations) {
    if (!('verb' in does) || does.verb !== 'list' || kind.key !== 'id' || path.includes('{')) continue
    test(`${path} takes one`, async () => {
      const { status, body } = await api.get(`${path}?${query('obj.id == "x"')}`)
      assert.equal(status, 200, JSON.stringify(body))
      assert.deepEqual(body[kind.listKey], [])
    })
  }

  test('holds for what is online too', async () => {
    await using agent = await apiWithAgent()
    const sessions = async (filter: string) =>
      (await agent.get(`/tunnel_sessions?${query(filter)}`)).body.tunnel_sessions.length
    assert.equal(await sessions('obj.metadata == "compat"'), 1)
    assert.equal(await sessions('obj.metadata == "other"'), 0)
  })

  const wrong: Record<string, RegExp> = {
    'obj.colour == "red"': /there is no field "colour"; there are id, .*description/,
    'ev.description == "x"': /obj\.field/,
    'obj.description ==': /at character/,
    'obj.acl[0] == "x"': /cannot be used/,
    '1 + 1 == 2': /cannot be used/,
    'obj.description.matches("(a+)+$")': /"matches" cannot be called like this/,
    'timestamp("yesterday") < obj.created_at': /RFC 3339/,
    'obj.created_at > timestamp(time.now).add("soon")': /a duration is/,
    [`obj.description == "${'x'.repeat(5000)}"`]: /more than 4096/,
    ['!'.repeat(2000) + 'true']: /./,
    [`obj.id in [${'"a",'.repeat(300)}"b"]`]: /./,
  }
  for (const [filter, says] of Object.entries(wrong))
    test(`refuses ${filter.slice(0, 60)}`, () =>
      assertRefused(api, {
        method: 'GET',
        path: `/credentials?${query(filter)}`,
        code: 250,
        says,
        field: 'filter',
      }))
})

test('resolves_to of a reserved domain is kept, and left out while it is not set', async () => {
  await using server = await startServer()
  const { api } = server
  const plain = await createResource(api, '/reserved_domains', { domain: 'a.example.com' })
  assert.ok(!('resolves_to' in plain))
  const both = [{ value: 'eu' }, { value: 'global' }]
  const { uri, resolves_to: reported } = await createResource(api, '/reserved_domains', {
    domain: 'b.example.com',
    resolves_to: both,
  })
  assert.deepEqual(reported, both)
  assert.deepEqual((await api.patch(uri, { description: 'x' })).body.resolves_to, both)
  assert.ok(!('resolves_to' in (await api.patch(uri, { resolves_to: [] })).body))
  await assertRefused(api, {
    path: '/reserved_domains',
    body: { domain: 'c.example.com', resolves_to: [{ value: 'moon' }] },
    code: 215,
    says: /resolves_to/,
  })
})
