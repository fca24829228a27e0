import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { create } from '#api/writing.ts'
import { createLog } from '#base/log.ts'
import { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import { openAcme } from '#domains/acme.ts'
import { reportNoAuthority } from '#domains/acme/no-authority.ts'
import { ReservedDomains } from '#domains/acme/reserved-domains.ts'
import { issueCertificate } from '../tls/test-certificates.ts'
import { createResource } from '../support/each-store.ts'
import { startServer } from '../support/server.ts'
import { FakeAuthority } from '../acme/fake-authority.ts'
import { FakeDns } from '../acme/fake-dns.ts'
import { World, type Domain } from '../acme/world.ts'

const HOUR = 3_600_000
const SAYS = /^Nothing is ordered: this server has no certificate authority\. Set ADIT_ACME_DIRECTORY/
const place = { directory: 'off', rootFile: import.meta.filename, dns: '127.0.0.1:9' }
const log = createLog('silent')
const environment = {
  domain: 'base.test',
  addresses: [],
  nameServerIps: [],
  servesDns: true,
  isSoleServer: false,
}

/** A server whose setting acme_directory is off. */
async function without(world: World): Promise<AsyncDisposable> {
  const { settings, store } = world
  const acme = openAcme({ settings, client: undefined, api: world.deps(store), source: world.source(), log })
  await acme.start('http://api.test')
  return { [Symbol.asyncDispose]: () => acme.close() }
}

const excused = (world: World, id: string) =>
  world.until(async () => {
    const job = await world.job(id)
    return job && SAYS.test(job.msg) ? job : undefined
  })

async function given(world: World, domain: Domain, { days, renews }: { days: number; renews: number }) {
  const to = Date.now() + days * 24 * HOUR
  const { pem, keyPem } = await issueCertificate({
    names: [{ type: 'dns', value: domain.domain }],
    to,
    from: to - 2160 * HOUR,
  })
  const body = { certificate_pem: pem, private_key_pem: keyPem }
  const { id } = await create(tlsCertificate, body, null, world.call)
  const status = { renews_at: new Date(Date.now() + renews).toISOString(), provisioning_job: null }
  await world.rewrite(domain.id, { certificate: id, certificate_management_status: status })
}

suite('a server without an authority', () => {
  test('is reported at every name that waits for a certificate, and at no other', async () => {
    await using server = await startServer()
    const { api } = server
    const wish = { authority: 'letsencrypt', private_key_type: 'ecdsa' }
    const { id } = await createResource(api, '/reserved_domains', { domain: 'shop.example.org' })
    const ingress = await createResource(api, '/agent_ingresses', {
      domain: 'agents.example.org',
      certificate_management_policy: wish,
    })
    const shared = await createResource(api, '/reserved_domains', { name: 'mine' })
    for (const path of [`/reserved_domains/${id}`, `/agent_ingresses/${ingress.id}`]) {
      const { certificate_management_status: status } = (await api.get(path)).body
      const { error_code: code, msg, started_at: since, retries_at: next } = status.provisioning_job
      assert.equal(code, 'INTERNAL_ERROR')
      assert.match(msg, SAYS)
      assert.ok(Math.abs(Date.parse(since) - Date.now()) < 60_000)
      assert.equal(next, null)
      assert.equal(status.renews_at, null)
    }
    assert.equal((await api.get(`/reserved_domains/${shared.id}`)).body.certificate_management_status, null)
    await api.delete(`/reserved_domains/${id}/certificate_management_policy`)
    assert.equal((await api.get(`/reserved_domains/${id}`)).body.certificate_management_status, null)
  })

  test('is reported when a renewal is due, not before, and cleared when no certificate is needed any more', async () => {
    await using world = await World.open(place)
    const [due, fine] = [await world.reserve('due.example.org'), await world.reserve('fine.example.org')]
    await given(world, due, { days: 20, renews: -HOUR })
    await given(world, fine, { days: 80, renews: HOUR })
    await using servers = new AsyncDisposableStack()
    servers.use(await without(world))
    await excused(world, due.id)
    assert.equal(await world.job(fine.id), null)
    const wish = (keyType: string) => ({
      certificate_management_policy: { authority: 'letsencrypt', private_key_type: keyType },
    })
    await world.change(fine.id, wish('rsa'))
    await excused(world, fine.id)
    await world.change(fine.id, wish('ecdsa'))
    await world.until(async () => (await world.job(fine.id)) === null)
  })

  test('is followed by one that orders, and follows one whose pending orders are not continued', async () => {
    await using authority = await FakeAuthority.start()
    using dns = await FakeDns.start('127.0.0.99')
    const { directory, rootFile } = authority
    await using world = await World.open({ directory, rootFile, dns: dns.at })
    const [first, second] = [await world.reserve('a.example.org'), await world.reserve('b.example.org')]
    {
      await using servers = new AsyncDisposableStack()
      servers.use(await without(world))
      const { started_at: since } = await excused(world, first.id)
      await excused(world, second.id)
      assert.equal((await world.job(first.id))?.started_at, since)
    }
    const busy = { status: 503, headers: { 'retry-after': '7200' }, body: 'busy' }
    authority.answers = ({ path, payload }) =>
      path === '/new-order' && JSON.stringify(payload).includes('b.example.org') ? busy : undefined
    const issuer = await world.issue()
    await world.issued(first.id)
    await world.until(async () => (await world.job(second.id))?.retries_at)
    await issuer.close()
    await using servers = new AsyncDisposableStack()
    servers.use(await without(world))
    assert.equal((await excused(world, second.id)).retries_at, null)
    assert.equal(await world.job(first.id), null)
  })

  test('leaves what another server of the same database reports about its orders', async () => {
    await using authority = await FakeAuthority.start()
    using dns = await FakeDns.start('127.0.0.99')
    const { directory, rootFile } = authority
    await using world = await World.open({ directory, rootFile, dns: dns.at })
    const [ordered, other] = [await world.reserve('a.example.org'), await world.reserve('b.example.org')]
    const busy = { status: 503, headers: { 'retry-after': '7200' }, body: 'busy' }
    authority.answers = ({ path }) => (path === '/new-order' ? busy : undefined)
    const issuer = await world.issue()
    const job = await world.failure(ordered.id)
    await world.failure(other.id)
    await issuer.close()
    const domains = new ReservedDomains({ call: world.call, source: world.source(), log, environment })
    const stop = await reportNoAuthority({ domains, isSoleServer: false, log, now: Date.now })
    // It gets names in their order, so the first was checked when the last one is changed.
    await world.rewrite(other.id, {
      certificate_management_status: { renews_at: null, provisioning_job: null },
    })
    await excused(world, other.id)
    assert.deepEqual(await world.job(ordered.id), job)
    await stop()
  })
})
