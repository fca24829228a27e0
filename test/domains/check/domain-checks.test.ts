import assert from 'node:assert/strict'
import { after, beforeEach, suite, test } from 'node:test'
import type { CheckedDomain } from '#contract/domain-check.ts'
import { FakeAuthority } from '../../acme/fake-authority.ts'
import { FakeDns } from '../../acme/fake-dns.ts'
import { ISSUING, World } from '../../acme/world.ts'
import { assertRefused, createResource, onEachStore } from '../../support/each-store.ts'
import { newMember } from '../../support/members.ts'
import { until } from '../../support/until.ts'

const HERE = '127.0.0.99'
const HOUR_MS = 3_600_000

const dns = await FakeDns.start()
const second = await FakeDns.start()
after(() => {
  dns[Symbol.dispose]()
  second[Symbol.dispose]()
})

beforeEach(() => {
  for (const each of [dns, second]) {
    each.address = undefined
    each.fails = false
    each.aliases.clear()
  }
})

const states = ({ steps }: CheckedDomain): Record<string, string> =>
  Object.fromEntries(steps.map(({ name, state }) => [name, state]))

onEachStore(
  'the check of a reserved domain',
  api => {
    const check = async (id: unknown): Promise<CheckedDomain> => {
      const { status, body } = await api().call('POST', `/reserved_domains/${String(id)}/check`)
      assert.equal(status, 200, JSON.stringify(body))
      return body
    }

    test('names the record that is missing, and what DNS has instead', async () => {
      const { id, cname_target: target } = await createResource(api(), '/reserved_domains', {
        domain: 'a.example.org',
      })
      dns.aliases.set('a.example.org', 'other.example.net')
      const found = await check(id)
      assert.equal(found.points_here, false)
      assert.deepEqual(found.required, [{ name: 'a.example.org', type: 'CNAME', value: target }])
      assert.deepEqual(found.found, [{ name: 'a.example.org', type: 'CNAME', value: 'other.example.net' }])
      assert.match(found.next, /has no address yet\. Set the DNS record "a\.example\.org CNAME /)
      assert.equal(states(found)['dns'], 'failed')
      assert.equal(found.expires_at, null)
    })

    test('reports that DNS is right, and what else is missing', async () => {
      const { id, cname_target: target } = await createResource(api(), '/reserved_domains', {
        domain: 'b.example.org',
      })
      dns.address = HERE
      dns.aliases.set('b.example.org', String(target))
      const found = await check(id)
      assert.equal(found.points_here, true)
      assert.deepEqual(found.found, [
        { name: 'b.example.org', type: 'CNAME', value: target },
        { name: 'b.example.org', type: 'A', value: HERE },
      ])
      assert.deepEqual(states(found), { dns: 'done', order: 'failed', certificate: 'waiting' })
      assert.match(found.next, /this server has no certificate authority/)
    })

    test('does not know it when name servers do not respond', async () => {
      const { id } = await createResource(api(), '/reserved_domains', { domain: 'c.example.org' })
      dns.fails = true
      const found = await check(id)
      assert.deepEqual([found.points_here, found.found, states(found)['dns']], [null, [], 'waiting'])
      assert.deepEqual(found.answers, [{ address: dns.at, records: [], error: 'ESERVFAIL' }])
    })

    test('resolves once for concurrent checks', async () => {
      const { id } = await createResource(api(), '/reserved_domains', { domain: 'd.example.org' })
      const [one, other] = await Promise.all([check(id), check(id)])
      assert.deepEqual(one, other)
    })

    test('is for the owner, and for admins', async () => {
      const { user, token } = await newMember(api())
      const own = await createResource(api(), '/reserved_domains', {
        domain: 'e.example.org',
        owner_id: user.id,
      })
      const path = `/reserved_domains/${own.id}/check`
      assert.equal((await api().call('POST', path, { token })).status, 200)
      const { token: stranger } = await newMember(api())
      const refused = await api().call('POST', path, { token: stranger })
      assert.deepEqual([refused.status, refused.body.error_code], [403, 'ERR_ADIT_90251'])
      const unknown = `/reserved_domains/rd_${'0'.repeat(27)}/check`
      await assertRefused(api(), { path: unknown, status: 404, code: undefined })
    })
  },
  { domain: 'base.test', public_addresses: HERE, acme_dns: dns.at },
)

onEachStore(
  'the check of a reserved domain with two resolvers',
  api => {
    test('shows the answer of each', async () => {
      const { id } = await createResource(api(), '/reserved_domains', { domain: 'f.example.org' })
      dns.aliases.set('f.example.org', 'old.example.net')
      second.aliases.set('f.example.org', 'new.example.net')
      const { body } = await api().call('POST', `/reserved_domains/${id}/check`)
      const record = { name: 'f.example.org', type: 'CNAME' }
      const old = [{ ...record, value: 'old.example.net' }]
      assert.deepEqual(body.answers, [
        { address: dns.at, records: old, error: null },
        { address: second.at, records: [{ ...record, value: 'new.example.net' }], error: null },
      ])
      assert.deepEqual(body.found, old)
    })

    test('shows which one fails, and what the other has', async () => {
      const { id } = await createResource(api(), '/reserved_domains', { domain: 'g.example.org' })
      dns.fails = true
      second.address = HERE
      const { body } = await api().call('POST', `/reserved_domains/${id}/check`)
      const records = [{ name: 'g.example.org', type: 'A', value: HERE }]
      assert.deepEqual(body.answers, [
        { address: dns.at, records: [], error: 'ESERVFAIL' },
        { address: second.at, records, error: null },
      ])
      assert.deepEqual(body.found, records)
    })
  },
  { domain: 'base.test', public_addresses: HERE, acme_dns: `${dns.at},${second.at}` },
)

suite('a certificate', () => {
  test('that waits for DNS is ordered at once when a check finds DNS right', async () => {
    await using authority = await FakeAuthority.start()
    const { directory, rootFile } = authority
    await using world = await World.open({ directory, rootFile, dns: dns.at })
    // The next look at DNS is a quarter of an hour away.
    const side = await world.issue({ retryMs: HOUR_MS })
    const { id } = await world.reserve('shop.example.org')
    await until(async () => (await world.job(id))?.error_code === 'DNS_ERROR')
    dns.address = HERE
    const found = await side.check(id)
    assert.deepEqual([found.points_here, found.next], [true, 'Wait for the certificate, then check again.'])
    await until(() => world.certificate(id), ISSUING)
  })

  test('that the CA rejected is not ordered sooner by a check', async () => {
    await using authority = await FakeAuthority.start()
    authority.answers = ({ path }) =>
      path === '/new-order'
        ? { status: 403, body: { type: 'urn:ietf:params:acme:error:rejectedIdentifier', detail: 'no' } }
        : undefined
    const { directory, rootFile } = authority
    await using world = await World.open({ directory, rootFile, dns: dns.at })
    const side = await world.issue({ retryMs: HOUR_MS })
    dns.address = HERE
    const { id } = await world.reserve('bad.example.org')
    const job = await until(async () => {
      const found = await world.job(id)
      return found?.retries_at ? found : undefined
    }, ISSUING)
    const found = await side.check(id)
    assert.equal(states(found)['order'], 'failed')
    assert.equal(found.next, job.msg)
    assert.deepEqual(await world.job(id), job)
    assert.equal(authority.paths.filter(path => path === '/new-order').length, 1)
  })
})
