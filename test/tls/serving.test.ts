import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, suite, test } from 'node:test'
import { connect, type ConnectionOptions } from 'node:tls'
import { Records } from '#registry/records/records.ts'
import type { SourceRow } from '#registry/records/source.ts'
import { evictReplacedCertificates } from '#tls/evict-replaced-certificates.ts'
import { createResource } from '../support/each-store.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { HOST, newAuthority, newCertificates } from '../gateway/listeners/support.ts'
import { issueCertificate } from './test-certificates.ts'
import { until } from '../support/until.ts'

const DAY = 86_400_000

suite('certificates of domains', () => {
  let server: TestServer
  before(async () => {
    server = await startServer()
  })
  after(() => server[Symbol.asyncDispose]())

  /** Uploads a certificate that lives for so many days; returns its id. */
  async function upload(name: string, days = 60): Promise<string> {
    const to = Date.now() + days * DAY
    const { pem, keyPem } = await issueCertificate({
      name,
      to,
      from: to - 90 * DAY,
      names: [{ type: 'dns', value: name }],
    })
    const { id } = await createResource(server.api, '/tls_certificates', {
      certificate_pem: pem,
      private_key_pem: keyPem,
    })
    return id
  }

  const reserve = async (domain: string, certificate_id: string): Promise<string> =>
    (await createResource(server.api, '/reserved_domains', { domain, certificate_id })).id

  const open = async (servername: string, options: ConnectionOptions = {}) => {
    const port = server.bound.https?.port ?? 0
    const socket = connect({ host: HOST, port, servername, rejectUnauthorized: false, ...options })
    await once(socket, 'secureConnect')
    return socket
  }

  /** The names in the certificate, and its number. */
  async function shown(servername: string, options?: ConnectionOptions) {
    const socket = await open(servername, options)
    const certificate = socket.getPeerX509Certificate()
    await once(socket.end().resume(), 'close')
    return { names: certificate?.subjectAltName ?? '', serial: certificate?.serialNumber }
  }

  test('are chosen by name: its own, then the nearest wildcard, then the default', async () => {
    await reserve('*.pick.example.com', await upload('*.pick.example.com'))
    await reserve('a.pick.example.com', await upload('a.pick.example.com'))
    await until(async () => (await shown('a.pick.example.com')).names === 'DNS:a.pick.example.com')
    for (const [name, expected] of [
      ['A.Pick.Example.com', /^DNS:a\.pick\.example\.com$/],
      ['b.pick.example.com', /^DNS:\*\.pick\.example\.com$/],
      ['pick.example.com', /adit\.localhost/],
      ['', /adit\.localhost/],
    ] as const)
      assert.match((await shown(name)).names, expected, name)
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const)
      assert.equal((await shown('a.pick.example.com', { maxVersion })).names, 'DNS:a.pick.example.com')
  })

  test('that are new serve the next handshake; open connections stay open (TLS-02)', async () => {
    const id = await reserve('renewed.example.com', await upload('renewed.example.com'))
    await until(async () => (await shown('renewed.example.com')).names === 'DNS:renewed.example.com')
    const earlier = await shown('renewed.example.com')
    const running = await open('renewed.example.com')
    const later = await upload('renewed.example.com')
    assert.equal((await server.api.patch(`/reserved_domains/${id}`, { certificate_id: later })).status, 200)
    await until(async () => (await shown('renewed.example.com')).serial !== earlier.serial)
    assert.equal((await shown('renewed.example.com')).names, 'DNS:renewed.example.com')
    running.write('GET / HTTP/1.1\r\nHost: renewed.example.com\r\n\r\n')
    const [answer] = (await once(running, 'data')) as [Buffer]
    assert.match(answer.toString(), /^HTTP\/1\.1 404/)
    running.destroy()
    await server.api.delete(`/reserved_domains/${id}`)
    await until(async () => (await shown('renewed.example.com')).names !== 'DNS:renewed.example.com')
  })

  test('that expire soon or have expired are counted, and still served (CRT-02)', async () => {
    const metric = async (name: string): Promise<number> => {
      const answer = await fetch(`${server.api.url}/metrics`, {
        headers: { authorization: `Bearer ${server.api.token}` },
      })
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await answer.text())?.[1])
    }
    assert.equal(await metric('adit_certs_expiring'), 0)
    assert.ok((await metric('adit_cert_expiry_timestamp_seconds')) > Date.now() / 1000 + 14 * 86_400)
    await reserve('soon.example.com', await upload('soon.example.com', 10))
    await until(async () => (await metric('adit_certs_expiring')) === 1)
    const soon = (await metric('adit_cert_expiry_timestamp_seconds')) - Date.now() / 1000
    assert.ok(soon > 9 * 86_400 && soon < 11 * 86_400)
    await reserve('late.example.com', await upload('late.example.com', -1))
    await until(async () => (await metric('adit_certs_expired')) === 1)
    assert.equal(await metric('adit_certs_expiring'), 1)
    assert.ok((await metric('adit_cert_expiry_timestamp_seconds')) < Date.now() / 1000)
    assert.equal((await shown('late.example.com')).names, 'DNS:late.example.com')
  })
})

test('of a thousand certificates only the one that is renewed is read again', async () => {
  const leaf = await (await newAuthority()).issue(['*.example'])
  const records = new Records()
  const row = (kind: string, id: string, body: object, version = 1): SourceRow => ({
    kind,
    id,
    parent: null,
    version,
    body: { id, ...body },
    readable: true,
  })
  const certificate = (at: number): SourceRow =>
    row('tls_certificate', `cert_${at}`, {
      // Text before a certificate makes it a different PEM, which is quicker than another certificate.
      certificate_pem: `number ${at}\n${leaf.certificatePem}`,
      private_key_pem: leaf.privateKeyPem.reveal(),
    })
  const domain = (at: number, of = at, version = 1): SourceRow =>
    row('reserved_domain', `rd_${at}`, { domain: `n${at}.example`, certificate: `cert_${of}` }, version)
  const all = Array.from({ length: 1000 }, (_, at) => at)
  records.snapshot(all.flatMap(at => [certificate(at), domain(at)]))
  const { certificates } = await newCertificates({ uploaded: name => records.certificate(name) })
  evictReplacedCertificates(records, certificates)
  const contexts = () => Promise.all(all.map(at => certificates.contextFor(`n${at}.example`)))
  const earlier = await contexts()
  assert.equal(new Set(earlier).size, 1000)
  records.changes([
    { op: 'put', row: certificate(1000) },
    { op: 'put', row: domain(7, 1000, 2) },
    { op: 'remove', kind: 'tls_certificate', id: 'cert_7' },
  ])
  const afterwards = await contexts()
  assert.deepEqual(
    all.filter(at => afterwards[at] !== earlier[at]),
    [7],
  )
})
