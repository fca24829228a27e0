import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import { suite, test } from 'node:test'
import { startServer } from '../support/server.ts'
import { Pebble } from './pebble.ts'

const HOST = '127.0.0.1'

async function freePort(): Promise<number> {
  const server = createServer().listen(0, HOST)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

/** A server that answers DNS for its own domain, and an authority that asks it. */
async function start() {
  await using parts = new AsyncDisposableStack()
  const [httpPort, tlsPort, dnsPort] = [await freePort(), await freePort(), await freePort()]
  const pebble = parts.use(await Pebble.start({ httpPort, tlsPort, dnsPort }))
  const server = parts.use(
    await startServer({
      domain: 'gate.example.org',
      http_addr: `${HOST}:${httpPort}`,
      https_addr: `${HOST}:${tlsPort}`,
      dns_addr: `${HOST}:${dnsPort}`,
      acme_directory: pebble.directory,
      acme_ca_file: pebble.rootFile,
      acme_dns: `${HOST}:${dnsPort}`,
      public_addresses: HOST,
      egress_allow: '127.0.0.0/8',
    }),
  )
  const all = parts.move()
  return { server, [Symbol.asyncDispose]: () => all.disposeAsync() }
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

async function until<Found>(look: () => Promise<Found>, isSo: (found: Found) => boolean): Promise<Found> {
  for (;;) {
    const found = await look()
    if (isSo(found)) return found
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

suite('the names of the server itself', () => {
  test('get a certificate for the domain and all names under it, with no more than a delegation', async () => {
    await using world = await start()
    const { api, bound } = world.server
    const found = await until(
      async () => (await api.get('/reserved_domains')).body.reserved_domains,
      ([own]) => own?.certificate !== null && own !== undefined,
    )
    assert.equal(found[0].domain, 'gate.example.org')
    assert.equal(found[0].certificate_management_status.provisioning_job, null)
    for (const name of ['gate.example.org', 'shop.gate.example.org'])
      await until(
        () => namesShown(bound.https?.port, name),
        // The certificate of the local authority has other names beside these.
        names => names === 'DNS:gate.example.org, DNS:*.gate.example.org',
      )
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
      state => state?.renews_at !== null,
    )
    const { body: certificates } = await api.get('/tls_certificates')
    const subjects = certificates.tls_certificates.flatMap(
      (each: { subject_alternative_names: { dns_names: string[] } }) =>
        each.subject_alternative_names.dns_names,
    )
    assert.ok(subjects.includes(name))
    const shown = await until(
      () => namesShown(bound.agent?.port, name),
      names => names === `DNS:${name}`,
    )
    assert.equal(shown, `DNS:${name}`)
  })

  test('and a custom wildcard are proven by DNS, through a CNAME record', async () => {
    await using world = await start()
    const { api, bound } = world.server
    // What is in a domain that is delegated here needs nobody to set its records.
    await api.post('/agent_ingresses', { domain: 'example.net' })
    const { status, body } = await api.post('/reserved_domains', { domain: '*.apps.example.net' })
    assert.equal(status, 201)
    assert.match(body.acme_challenge_cname_target, /\.acme\.gate\.example\.org$/)
    await until(
      async () => (await api.get(`/reserved_domains/${body.id}`)).body,
      ({ certificate }) => certificate !== null,
    )
    await until(
      () => namesShown(bound.https?.port, 'one.apps.example.net'),
      names => names === 'DNS:*.apps.example.net',
    )
  })
})
