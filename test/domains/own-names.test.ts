import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:tls'
import { suite, test } from 'node:test'
import { createResource } from '../support/each-store.ts'
import { startServer } from '../support/server.ts'
import { FakeDns } from '../acme/fake-dns.ts'
import { Pebble } from '../acme/pebble.ts'
import { freePorts } from '../support/free-ports.ts'
import { ISSUING } from '../acme/world.ts'
import { until } from '../support/until.ts'

const HOST = '127.0.0.1'
const BASE = 'gate.example.org'

/** A server that answers DNS for its own domain, and an authority that asks it, unless the settings say otherwise. */
async function start(settings: Record<string, string> = {}) {
  await using parts = new AsyncDisposableStack()
  const [httpPort = 0, tlsPort = 0, dnsPort = 0] = await freePorts(3)
  const { dns_addr: dns = `${HOST}:${dnsPort}` } = settings
  const pebble = parts.use(await Pebble.start({ httpPort, tlsPort, ...(dns !== 'off' && { dnsPort }) }))
  const server = parts.use(
    await startServer({
      domain: BASE,
      http_addr: `${HOST}:${httpPort}`,
      https_addr: `${HOST}:${tlsPort}`,
      dns_addr: dns,
      acme_directory: pebble.directory,
      acme_ca_file: pebble.rootFile,
      acme_dns: dns === 'off' ? pebble.dns : dns,
      public_addresses: HOST,
      egress_allow: '127.0.0.0/8',
      ...settings,
    }),
  )
  const all = parts.move()
  return { server, pebble, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

async function namesShown(port: number | undefined, servername: string): Promise<string> {
  const socket = connect({
    host: HOST,
    port: port ?? 0,
    servername,
    rejectUnauthorized: false,
    ALPNProtocols: [],
  })
  await once(socket, 'secureConnect')
  const names = socket.getPeerX509Certificate()?.subjectAltName ?? ''
  socket.destroy()
  return names
}

suite('the names of the server itself', { concurrency: 3 }, () => {
  test('get a certificate for the domain and all names under it, with no more than a delegation', async () => {
    await using world = await start()
    const { api, bound } = world.server
    const found = await until(async () => (await api.get('/reserved_domains')).body.reserved_domains, {
      ...ISSUING,
      fits: ([own]) => own?.certificate !== null && own !== undefined,
    })
    assert.equal(found[0].domain, 'gate.example.org')
    assert.equal(found[0].certificate_management_status.provisioning_job, null)
    for (const name of ['gate.example.org', 'shop.gate.example.org'])
      await until(() => namesShown(bound.https?.port, name), {
        ...ISSUING,
        // The certificate of the local authority has other names beside these.
        fits: names => names === 'DNS:gate.example.org, DNS:*.gate.example.org',
      })
  })

  test('of an agent ingress get one, too, and agents are shown it', async () => {
    await using world = await start()
    const { api, bound } = world.server
    const { status, body } = await api.post('/agent_ingresses', {
      domain: 'agents.example.net',
      certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' },
    })
    assert.equal(status, 201)
    const [name] = body.region_domains
    await until(
      async () => (await api.get(`/agent_ingresses/${body.id}`)).body.certificate_management_status,
      { ...ISSUING, fits: state => state?.renews_at !== null },
    )
    const { body: certificates } = await api.get('/tls_certificates')
    const subjects = certificates.tls_certificates.flatMap(
      (each: { subject_alternative_names: { dns_names: string[] } }) =>
        each.subject_alternative_names.dns_names,
    )
    assert.ok(subjects.includes(name))
    const shown = await until(() => namesShown(bound.agent?.port, name), {
      ...ISSUING,
      fits: names => names === `DNS:${name}`,
    })
    assert.equal(shown, `DNS:${name}`)
  })

  test('and a custom wildcard are proven by DNS, through a CNAME record', async () => {
    await using world = await start()
    const { api, bound } = world.server
    // Names in a domain that is delegated here need no records set by hand.
    await api.post('/agent_ingresses', { domain: 'example.net' })
    const { status, body } = await api.post('/reserved_domains', { domain: '*.apps.example.net' })
    assert.equal(status, 201)
    assert.match(body.acme_challenge_cname_target, /\.acme\.gate\.example\.org$/)
    await until(async () => (await api.get(`/reserved_domains/${body.id}`)).body, {
      ...ISSUING,
      fits: ({ certificate }) => certificate !== null,
    })
    await until(() => namesShown(bound.https?.port, 'one.apps.example.net'), {
      ...ISSUING,
      fits: names => names === 'DNS:*.apps.example.net',
    })
  })

  test('deeper than a wildcard reaches get their own, wildcards among them', async () => {
    await using world = await start()
    const { api, bound } = world.server
    const names = [`a.b.${BASE}`, `*.deep.${BASE}`]
    for (const domain of names) {
      const { certificate_management_policy: policy } = await createResource(api, '/reserved_domains', {
        domain,
      })
      assert.deepEqual(policy, { authority: 'letsencrypt', private_key_type: 'rsa' })
    }
    for (const name of names)
      await until(() => namesShown(bound.https?.port, name.replace('*', 'one')), {
        ...ISSUING,
        fits: shown => shown === `DNS:${name}`,
      })
  })

  test('are ordered one by one where the server answers no DNS; what is not reserved has a local one', async () => {
    await using world = await start({ dns_addr: 'off' })
    const { server, pebble } = world
    const { api, bound } = server
    const names = [BASE, `shop.${BASE}`]
    for (const name of names) await pebble.configure('add-a', { host: `${name}.`, addresses: [HOST] })
    await createResource(api, '/reserved_domains', { name: 'shop' })
    for (const name of names)
      await until(() => namesShown(bound.https?.port, name), {
        ...ISSUING,
        fits: shown => shown === `DNS:${name}`,
      })
    assert.match(await namesShown(bound.https?.port, `free.${BASE}`), /DNS:localhost/)
  })

  test('are not ordered before they are delegated, and cannot be given up', async () => {
    using dns = await FakeDns.start(HOST)
    await using world = await start({ acme_dns: dns.at })
    const { server, pebble } = world
    const { api } = server
    const own = await until(async () => (await api.get('/reserved_domains')).body.reserved_domains[0], {
      ...ISSUING,
      fits: found => Boolean(found.certificate_management_status.provisioning_job?.error_code),
    })
    const { error_code: code, msg, retries_at: next } = own.certificate_management_status.provisioning_job
    assert.equal(code, 'DNS_ERROR')
    assert.equal(
      msg,
      `DNS of ${BASE} is not served by this server yet. Set at its registrar, or in the zone above it: ` +
        `"${BASE} NS ns1.${BASE}", "${BASE} NS ns2.${BASE}", "ns1.${BASE} A ${HOST}", "ns2.${BASE} A ${HOST}".`,
    )
    assert.ok(Date.parse(next) < Date.now() + 60_000)
    assert.ok(!pebble.logged.some(line => line.includes('order-plz')))
    const refused = await api.delete(`/reserved_domains/${own.id}`)
    assert.equal(refused.status, 400)
    assert.match(refused.body.error_code, /90200$/)
    assert.equal((await api.delete(`/reserved_domains/${own.id}/certificate_management_policy`)).status, 204)
    const wish = { certificate_management_policy: { authority: 'letsencrypt' } }
    assert.equal((await api.patch(`/reserved_domains/${own.id}`, wish)).status, 200)
  })
})
