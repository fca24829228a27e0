import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:tls'
import { suite, test } from 'node:test'
import { createResource } from '../support/each-store.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { Pebble } from './pebble.ts'
import { freePorts } from '../support/free-ports.ts'
import { ISSUING } from './world.ts'
import { until } from '../support/until.ts'

const HOST = '127.0.0.1'

/** A server, and an authority that knows it under these names and comes to its own listeners to see. */
async function start(names: readonly string[], settings: Record<string, string> = {}) {
  await using parts = new AsyncDisposableStack()
  const [httpPort = 0, tlsPort = 0] = await freePorts(2)
  const pebble = parts.use(await Pebble.start({ httpPort, tlsPort }))
  for (const name of names) await pebble.configure('add-a', { host: `${name}.`, addresses: [HOST] })
  const server = parts.use(
    await startServer({
      domain: 'base.test',
      http_addr: `${HOST}:${httpPort}`,
      https_addr: `${HOST}:${tlsPort}`,
      acme_directory: pebble.directory,
      acme_ca_file: pebble.rootFile,
      acme_dns: pebble.dns,
      public_addresses: HOST,
      egress_allow: '127.0.0.0/8',
      ...settings,
    }),
  )
  const all = parts.move()
  return { server, pebble, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

/** The certificate that a client gets. */
async function served({ bound }: TestServer, servername: string) {
  const socket = connect({ host: HOST, port: bound.https?.port ?? 0, servername, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const certificate = socket.getPeerX509Certificate()
  await once(socket.end().resume(), 'close')
  return {
    names: certificate?.subjectAltName,
    serial: certificate?.serialNumber.toLowerCase(),
    key: certificate?.publicKey.asymmetricKeyType,
  }
}

/** The domain as soon as it has a certificate other than this one, and that certificate, both as the API returns them. */
function issued({ api }: TestServer, id: string, other?: string) {
  return until(async () => {
    const { body: domain } = await api.get(`/reserved_domains/${id}`)
    if (!domain.certificate || domain.certificate.id === other) return undefined
    const { body: certificate } = await api.get(`/tls_certificates/${domain.certificate.id}`)
    return { domain, certificate }
  }, ISSUING)
}

const bare = (serial: string): string => serial.replaceAll(':', '').toLowerCase().replace(/^0+/, '')

suite('CRT-01: a domain that is reserved', () => {
  test('gets its certificate by http-01, is served with it at once, and later with the next', async () => {
    await using world = await start(['shop.example.com'])
    const { server } = world
    const { id, certificate_management_policy: policy } = await createResource(
      server.api,
      '/reserved_domains',
      {
        domain: 'shop.example.com',
      },
    )
    assert.deepEqual(policy, { authority: 'letsencrypt', private_key_type: 'rsa' })
    const first = await issued(server, id)
    assert.match(first.certificate.issuer_common_name, /Pebble/)
    assert.ok(Date.parse(first.certificate.issued_at) > Date.now() - 60_000)
    const status = first.domain.certificate_management_status
    assert.equal(status.provisioning_job, null)
    const [from, to] = [first.certificate.not_before, first.certificate.not_after].map(Date.parse)
    assert.ok(Date.parse(status.renews_at) > (from ?? 0) && Date.parse(status.renews_at) < (to ?? 0))
    const shown = await until(async () => {
      const found = await served(server, 'shop.example.com')
      return found.names === 'DNS:shop.example.com' ? found : undefined
    }, ISSUING)
    assert.equal(bare(shown.serial ?? ''), bare(first.certificate.serial_number))
    assert.equal(shown.key, 'rsa')

    const wish = { certificate_management_policy: { authority: 'letsencrypt', private_key_type: 'ecdsa' } }
    assert.equal((await server.api.patch(`/reserved_domains/${id}`, wish)).status, 200)
    const next = await until(async () => {
      const found = await served(server, 'shop.example.com')
      assert.equal(found.names, 'DNS:shop.example.com', 'at no moment is it served with another')
      return found.serial === shown.serial ? undefined : found
    }, ISSUING)
    assert.equal(next.key, 'ec')
    const second = await issued(server, id, first.certificate.id)
    assert.equal(bare(next.serial ?? ''), bare(second.certificate.serial_number))
    await until(
      async () =>
        (await server.api.get(`/tls_certificates/${first.certificate.id}`)).status === 404 ? true : undefined,
      ISSUING,
    )
    const metrics = await (await fetch(`${server.api.url}/metrics`)).text()
    assert.match(metrics, /^adit_acme_orders_total\{result="issued"\} 2$/m)
    assert.match(metrics, /^adit_certs_expired 0$/m)
  })

  test('gets its certificate by tls-alpn-01 where there is no listener for HTTP, from any process', async () => {
    const names = ['a.example.com', 'b.example.com', 'c.example.com']
    await using world = await start(names, { http_addr: 'off', workers: '2' })
    const { server } = world
    const policy = { authority: 'letsencrypt', private_key_type: 'ecdsa' }
    const domains = await Promise.all(
      names.map(domain =>
        createResource(server.api, '/reserved_domains', { domain, certificate_management_policy: policy }),
      ),
    )
    for (const { id, domain } of domains) {
      const { certificate } = await issued(server, id)
      assert.deepEqual(certificate.subject_alternative_names.dns_names, [domain])
      let inARow = 0
      while (inARow < 10) inARow = (await served(server, domain)).names === `DNS:${domain}` ? inARow + 1 : 0
    }
  })

  test('is not ordered while its name points elsewhere, and the status has the record to set (SEC-13)', async () => {
    await using world = await start([])
    const { server, pebble } = world
    await pebble.configure('add-a', { host: 'away.example.com.', addresses: ['192.0.2.1'] })
    const { id, cname_target: target } = await createResource(server.api, '/reserved_domains', {
      domain: 'away.example.com',
    })
    const job = await until(async () => {
      const { body } = await server.api.get(`/reserved_domains/${id}`)
      return body.certificate_management_status.provisioning_job?.error_code
        ? body.certificate_management_status.provisioning_job
        : undefined
    }, ISSUING)
    assert.equal(job.error_code, 'DNS_ERROR')
    assert.ok(job.msg.includes(`away.example.com CNAME ${target}`), job.msg)
    assert.ok(Date.parse(job.retries_at) > Date.now())
    assert.notEqual((await served(server, 'away.example.com')).names, 'DNS:away.example.com')
  })
})
