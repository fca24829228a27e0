import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { find } from '#api/records.ts'
import { create } from '#api/writing.ts'
import { agentIngress } from '#contract/kinds/agent-ingress.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import type { Stored } from '#contract/shape.ts'
import { respondToChallenges, type Challenge } from './challenge-responder.ts'
import { FakeDns } from './fake-dns.ts'
import { Pebble } from './pebble.ts'
import { World, assertNothingLeft, setDnsRecords, type Domain } from './world.ts'
import { Folder } from '../support/folder.ts'

const BASE = 'gate.example.org'
const SERVERS = [`ns1.${BASE}`, `ns2.${BASE}`]
const HERE = '127.0.0.99'
const policy = { authority: 'letsencrypt', private_key_type: 'ecdsa' }

let pebble: Pebble
before(async () => {
  pebble = await Pebble.start()
})
after(() => pebble[Symbol.asyncDispose]())

/** A server with this domain and name server; names resolve to the challenge server for the CA. */
async function open(dns: FakeDns, settings: Record<string, string> = {}, kept?: string): Promise<World> {
  const { directory, rootFile } = pebble
  // With what others left behind there it would become too long an answer.
  await pebble.configure('clear-txt', { host: `_acme-challenge.${BASE}.` })
  return World.open({ directory, rootFile, dns: dns.at }, { domain: BASE, ...settings }, kept)
}

/** What the authority is to see when it visits these names. */
async function visited(...names: string[]): Promise<void> {
  for (const host of names) await pebble.configure('add-a', { host: `${host}.`, addresses: ['127.0.0.1'] })
}

const reserve = async (world: World, domain: string): Promise<Domain> =>
  world.domain(String((await create(reservedDomain, { domain }, null, world.call))['id']))

const issuing = (world: World, seen: Challenge[] = []) =>
  world.issue({}, respondToChallenges(world.store, pebble, { seen }))

async function assertNothingAsked(world: World): Promise<void> {
  assert.deepEqual(await world.rows('acme_account'), [], 'no authority was asked')
}

suite('a zone that is delegated to this server', () => {
  test('gets no order until it is delegated; the status has the records to set', async () => {
    using dns = await FakeDns.start(HERE)
    await using world = await open(dns)
    await issuing(world)
    const { id } = await world.reservation(BASE)
    const job = await world.failure(id)
    assert.equal(job.error_code, 'DNS_ERROR')
    for (const server of SERVERS)
      for (const line of [`"${BASE} NS ${server}"`, `"${server} A ${HERE}"`])
        assert.ok(job.msg.includes(line), job.msg)
    assert.ok(Date.parse(job.retries_at ?? '') < Date.now() + 900_000)
    // Name servers of others are not accepted.
    dns.zones.set(BASE, ['ns1.registrar.example'])
    const looks = async () =>
      Number(JSON.parse((await world.rows('acme_order'))[0]?.body ?? '{}')['looks'] ?? 0)
    const seen = await looks()
    await world.until(async () => (await looks()) > seen + 1)
    await assertNothingAsked(world)
    dns.zones.set(BASE, ['ns2.gate.example.org'])
    await world.issued(id)
    const { subjectAltName } = await world.leaf(id)
    assert.equal(subjectAltName, `DNS:${BASE}, DNS:*.${BASE}`)
    await assertNothingLeft(world)
  })

  test('with name servers that do not respond is reported in the same way, and recovers as fast', async () => {
    using dns = await FakeDns.start(HERE)
    dns.fails = true
    await using world = await open(dns)
    await issuing(world)
    const { id } = await world.reservation(BASE)
    const job = await world.failure(id)
    assert.equal(job.error_code, 'DNS_ERROR')
    assert.ok(job.msg.includes(`"${BASE} NS ns1.${BASE}"`), job.msg)
    await assertNothingAsked(world)
    dns.zones.set(BASE, SERVERS)
    dns.fails = false
    await world.issued(id)
  })

  test('of an agent ingress behaves in the same way', async () => {
    using dns = await FakeDns.start()
    await using world = await open(dns)
    await issuing(world)
    const wish = { domain: 'agents.example.net', certificate_management_policy: policy }
    const id = String((await create(agentIngress, wish, null, world.call))['id'])
    const ingress = async () =>
      (await find({ kind: agentIngress, id, parent: null }, world.call)).body as Stored<
        typeof agentIngress.shape
      >
    const job = await world.until(async () => {
      const found = (await ingress()).certificate_management_status?.provisioning_job
      return found?.error_code ? found : undefined
    })
    assert.equal(job.error_code, 'DNS_ERROR')
    for (const server of SERVERS) assert.ok(job.msg.includes(`"agents.example.net NS ${server}"`), job.msg)
    await assertNothingAsked(world)
    await visited('tunnel.us.agents.example.net')
    dns.zones.set('agents.example.net', SERVERS)
    dns.address = HERE
    await world.until(async () => (await ingress()).certificate ?? undefined)
  })

  test('is needed for custom wildcards, whose challenges are in it', async () => {
    using dns = await FakeDns.start(HERE)
    await using world = await open(dns)
    const { id, acme_challenge_cname_target: target } = await world.reserve('*.custom.example.com')
    dns.aliases.set('_acme-challenge.custom.example.com', target ?? '')
    await issuing(world)
    const job = await world.failure(id)
    assert.equal(job.error_code, 'DNS_ERROR')
    assert.ok(job.msg.includes(`"${BASE} NS ns1.${BASE}"`), job.msg)
    await assertNothingAsked(world)
  })
})

suite('names under the shared domain', () => {
  test('have its certificate, and deeper ones their own', async () => {
    using dns = await FakeDns.start(HERE)
    dns.zones.set(BASE, SERVERS)
    await using world = await open(dns)
    const seen: Challenge[] = []
    await issuing(world, seen)
    const shallow = await reserve(world, `one.${BASE}`)
    assert.equal(shallow.certificate_management_policy, null)
    await assert.rejects(world.change(shallow.id, { certificate_management_policy: policy }), {
      code: 'domain_policy_shared',
    })
    await visited(`a.b.${BASE}`)
    const deep = await reserve(world, `a.b.${BASE}`)
    assert.deepEqual(deep.certificate_management_policy, {
      authority: 'letsencrypt',
      private_key_type: 'rsa',
    })
    assert.equal(deep.cname_target, null)
    await world.issued(deep.id)
    const wide = await world.reserve(`*.deep.${BASE}`)
    assert.equal(wide.acme_challenge_cname_target, null)
    await world.issued(wide.id)
    assert.equal((await world.leaf(wide.id)).subjectAltName, `DNS:*.deep.${BASE}`)
    const proven = (name: string) => seen.find(challenge => challenge.name === name)
    assert.equal(proven(`a.b.${BASE}`)?.type, 'http-01')
    assert.equal(proven(`deep.${BASE}`)?.target, `_acme-challenge.deep.${BASE}`)
  })

  test('have one each where this server serves no DNS, like the domain itself', async () => {
    using dns = await FakeDns.start('192.0.2.7')
    await using world = await open(dns, { dns_addr: 'off' })
    await issuing(world)
    const own = await world.reservation(BASE)
    assert.match(own.description, /local CA/)
    const job = await world.failure(own.id)
    assert.equal(job.error_code, 'DNS_ERROR')
    assert.equal(job.msg, `${BASE} points to 192.0.2.7. Set in DNS: "${BASE} A ${HERE}".`)
    await assertNothingAsked(world)
    await visited(BASE, `shop.${BASE}`)
    dns.address = HERE
    await world.issued(own.id)
    assert.equal((await world.leaf(own.id)).subjectAltName, `DNS:${BASE}`)
    const shop = await world.reserve(`shop.${BASE}`)
    await world.issued(shop.id)
    assert.equal((await world.leaf(shop.id)).subjectAltName, `DNS:shop.${BASE}`)
    await assert.rejects(world.remove(own.id), { code: 'domain_of_server' })
  })

  test('are managed separately once this server no longer serves DNS', async () => {
    using folder = new Folder()
    using dns = await FakeDns.start(HERE)
    dns.zones.set(BASE, SERVERS)
    await visited(`early.${BASE}`)
    {
      await using world = await open(dns, {}, folder.path)
      await issuing(world)
      await world.issued((await world.reservation(BASE)).id)
      assert.equal((await reserve(world, `early.${BASE}`)).certificate_management_policy, null)
    }
    await using world = await open(dns, { dns_addr: 'off' }, folder.path)
    await issuing(world)
    await world.issued((await world.reservation(`early.${BASE}`)).id)
    const own = await world.reservation(BASE)
    assert.equal(own.acme_challenge_cname_target, null)
    // What is there already is for the domain as well.
    assert.equal((await world.leaf(own.id)).subjectAltName, `DNS:${BASE}, DNS:*.${BASE}`)
    await world.rewrite(own.id, { certificate_management_policy: null })
    await world.change(own.id, { certificate_management_policy: policy })
  })

  test('share one once it does, and the domain is an ordinary one when it is no longer shared', async () => {
    using folder = new Folder()
    using dns = await FakeDns.start(HERE)
    dns.zones.set(BASE, SERVERS)
    await visited(BASE)
    {
      await using world = await open(dns, { dns_addr: 'off' }, folder.path)
      await issuing(world)
      await world.issued((await world.reservation(BASE)).id)
    }
    {
      await using world = await open(dns, {}, folder.path)
      await issuing(world)
      const { id } = await world.reservation(BASE)
      const all = `DNS:${BASE}, DNS:*.${BASE}`
      await world.until(async () => (await world.leaf(id)).subjectAltName === all)
    }
    await using world = await open(dns, { domain: 'other.example.org' }, folder.path)
    const { id } = await world.reservation(BASE)
    await world.change(id, { certificate_management_policy: { ...policy, private_key_type: 'rsa' } })
    await issuing(world)
    assert.match((await world.failure(id)).msg, /was the domain of this server, which is other\.example\.org/)
    await world.remove(id)
  })
})

suite('nothing is ordered, and the status has the reason,', () => {
  test('for a wildcard while this server serves no DNS', async () => {
    using folder = new Folder()
    let domain: Domain
    {
      const { directory, rootFile, dns } = pebble
      const place = { directory, rootFile, dns }
      await using world = await World.open(place, { dns_addr: 'off' }, folder.path)
      domain = await world.reserve('*.off.example.com')
      await setDnsRecords(pebble, domain)
      await issuing(world)
      const job = await world.failure(domain.id)
      assert.equal(job.error_code, 'INTERNAL_ERROR')
      assert.match(job.msg, /^Nothing is ordered: wildcards .* ADIT_DNS_ADDR/)
      assert.equal(job.retries_at, null)
      await assertNothingAsked(world)
      await assertNothingLeft(world)
    }
    await using world = await World.open(pebble, {}, folder.path)
    await issuing(world)
    await world.issued(domain.id)
  })

  test('for custom names on a server whose domain cannot be reached, unless their addresses point here', async () => {
    using dns = await FakeDns.start()
    await using world = await open(dns, { domain: 'adit.localhost' })
    await issuing(world)
    const plain = await world.reserve('shop.example.com')
    const wide = await world.reserve('*.shop.example.com')
    const [failure, wideFailure] = [await world.failure(plain.id), await world.failure(wide.id)]
    assert.equal(failure.error_code, 'DNS_ERROR')
    assert.equal(wideFailure.error_code, 'INTERNAL_ERROR')
    for (const { msg } of [failure, wideFailure]) {
      assert.match(msg, /public domain \(ADIT_DOMAIN\)/)
      assert.doesNotMatch(msg, /cname\.adit\.localhost/)
    }
    dns.fails = true
    const silent = await world.until(async () => {
      const job = await world.job(plain.id)
      return job?.error_code === 'INTERNAL_ERROR' ? job : undefined
    })
    assert.match(silent.msg, /^DNS has no information about shop\.example\.com .*ADIT_DOMAIN/)
    dns.fails = false
    await assertNothingAsked(world)
    await visited('shop.example.com')
    dns.address = HERE
    await world.issued(plain.id)
  })

  test('for a custom name whose target has no address', async () => {
    await using world = await World.open(pebble)
    const domain = await world.reserve('early.example.com')
    await pebble.configure('set-cname', { host: 'early.example.com', target: domain.cname_target })
    await issuing(world)
    const job = await world.failure(domain.id)
    assert.equal(job.error_code, 'DNS_ERROR')
    assert.match(job.msg, /which has no address yet/)
    await assertNothingAsked(world)
    await setDnsRecords(pebble, domain)
    await world.issued(domain.id)
  })
})
