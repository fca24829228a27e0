import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { assertRefused, createResource, onEachStore } from '../support/each-store.ts'
import { runOrThrow, newSshKey, ssh, startSshd } from '../support/openssh.ts'
import { AUTHORITY, issue, type Identity } from '../support/openssl.ts'
import { startServer, type Caller, type TestServer } from '../support/server.ts'
import { Folder } from '../support/folder.ts'

onEachStore('certificates', api => {
  let folder: Folder
  let root: Identity
  let leaf: Identity
  before(async () => {
    folder = new Folder()
    root = await issue(folder, { name: 'root', extensions: AUTHORITY })
    leaf = await issue(folder, {
      name: 'leaf',
      issuer: root,
      subject: '/C=IS/ST=Gullbringa/L=Reykjavik/O=Adit/OU=Ops/CN=app.example.com',
      extensions: [
        'basicConstraints=critical,CA:FALSE',
        'subjectAltName=DNS:app.example.com,DNS:*.example.com,IP:192.0.2.1,IP:2001:db8::1',
        'keyUsage=digitalSignature,keyEncipherment',
        'extendedKeyUsage=serverAuth',
      ],
    })
  })
  after(() => folder[Symbol.dispose]())

  test('are uploaded with their key, and parsed', async () => {
    const certificate_pem = leaf.certificate + root.certificate
    const created = await createResource(api(), '/tls_certificates', {
      certificate_pem,
      private_key_pem: leaf.key,
      description: 'd',
    })
    const { id, uri, created_at, not_before, not_after, serial_number, owner_id, ...rest } = created
    assert.equal(owner_id, (await api().get('/self')).body.user)
    assert.match(id, /^cert_/)
    assert.ok(uri && created_at && not_before < not_after)
    const [serial = ''] =
      (await runOrThrow('openssl', 'x509', '-in', leaf.files.certificate, '-noout', '-serial')).match(
        /[0-9A-F]{8,}/,
      ) ?? []
    assert.equal(serial_number, serial.toLowerCase())
    assert.deepEqual(rest, {
      description: 'd',
      metadata: '',
      certificate_pem,
      subject_common_name: 'app.example.com',
      subject_alternative_names: {
        dns_names: ['app.example.com', '*.example.com'],
        ips: ['192.0.2.1', '2001:db8::1'],
      },
      issued_at: null,
      key_usages: ['digital_signature', 'key_encipherment'],
      extended_key_usages: ['server_auth'],
      private_key_type: 'ecdsa',
      issuer_common_name: 'root',
      subject_organization: 'Adit',
      subject_organizational_unit: 'Ops',
      subject_locality: 'Reykjavik',
      subject_province: 'Gullbringa',
      subject_country: 'IS',
    })
    assert.equal((await api().patch(`/tls_certificates/${id}`, { metadata: 'm' })).body.metadata, 'm')
  })

  test('of a reserved domain can be attached, detached and replaced by automatic management', async () => {
    const certificate = await createResource(api(), '/tls_certificates', {
      certificate_pem: leaf.certificate,
      private_key_pem: leaf.key,
    })
    const domain = await createResource(api(), '/reserved_domains', {
      domain: 'own.example.com',
      certificate_id: certificate.id,
    })
    const path = `/reserved_domains/${domain.id}`
    assert.equal(domain.certificate.id, certificate.id)
    assert.equal(domain.certificate_management_policy, null)
    assert.match(domain.cname_target, /^[0-9a-f]{17}\.cname\.adit\.localhost$/)
    await assertRefused(api(), {
      method: 'DELETE',
      path: `/tls_certificates/${certificate.id}`,
      code: 1966,
      says: /rd_/,
    })
    const both = {
      certificate_id: certificate.id,
      certificate_management_policy: { authority: 'letsencrypt' },
    }
    await assertRefused(api(), { method: 'PATCH', path, body: both, code: 434 }, [path])

    const managed = await api().patch(path, { certificate_management_policy: { authority: 'letsencrypt' } })
    assert.equal(managed.body.certificate, null)
    assert.deepEqual(managed.body.certificate_management_policy, {
      authority: 'letsencrypt',
      private_key_type: 'rsa',
    })
    // The servers of these tests have no CA, and report that.
    const { renews_at: renewsAt, provisioning_job: job } = managed.body.certificate_management_status
    assert.deepEqual([renewsAt, job.error_code, job.retries_at], [null, 'INTERNAL_ERROR', null])
    assert.match(job.msg, /ADIT_ACME_DIRECTORY/)
    await assertRefused(api(), { method: 'DELETE', path: `${path}/certificate`, code: 436 }, [path])

    assert.equal((await api().delete(`${path}/certificate_management_policy`)).status, 204)
    const unmanaged = (await api().get(path)).body
    assert.deepEqual(
      [unmanaged.certificate_management_policy, unmanaged.certificate_management_status],
      [null, null],
    )
    assert.equal(
      (await api().patch(path, { certificate_id: certificate.id })).body.certificate.id,
      certificate.id,
    )
    assert.equal((await api().delete(`${path}/certificate`)).status, 204)
    assert.equal((await api().get(path)).body.certificate, null)
    assert.equal((await api().delete(`/tls_certificates/${certificate.id}`)).status, 204)
  })

  test('for a custom wildcard name the record for its challenge', async () => {
    const domain = await createResource(api(), '/reserved_domains', {
      domain: '*.wild.example.com',
      region: 'eu',
    })
    assert.match(domain.acme_challenge_cname_target, /^[0-9a-f]{17}\.acme\.adit\.localhost$/)
    assert.equal(domain.region, 'eu')
  })

  test('of authorities are bound by mutual TLS and kept while they are', async () => {
    const authority = await createResource(api(), '/certificate_authorities', { ca_pem: root.certificate })
    assert.deepEqual(
      [authority.subject_common_name, authority.key_usages, authority.extended_key_usages],
      ['root', ['cert_sign', 'crl_sign'], []],
    )
    const edge = await createResource(api(), '/edges/https')
    const path = `/edges/https/${edge.id}/mutual_tls`
    const put = await api().put(path, { certificate_authority_ids: [authority.id] })
    const shown = { enabled: true, certificate_authorities: [{ id: authority.id, uri: authority.uri }] }
    assert.deepEqual([put.status, put.body], [200, shown])
    assert.deepEqual((await api().get(path)).body, shown)
    await assertRefused(api(), {
      method: 'DELETE',
      path: `/certificate_authorities/${authority.id}`,
      code: 90013,
    })
    assert.equal((await api().delete(path)).status, 204)
    assert.equal((await api().delete(`/certificate_authorities/${authority.id}`)).status, 204)

    const tls = {
      mutual_tls: {
        certificate_authority_ids: [
          (await createResource(api(), '/certificate_authorities', { ca_pem: root.certificate })).id,
        ],
      },
    }
    await assertRefused(api(), { path: '/edges/tls', body: tls, code: 7062 }, ['/edges/tls'])
    await createResource(api(), '/edges/tls', {
      ...tls,
      tls_termination: { terminate_at: 'edge', min_version: '1.3' },
    })
  })

  test('that cannot be used are refused for their reason', async () => {
    const upload = (certificate_pem: unknown, private_key_pem: unknown) => ({
      path: '/tls_certificates',
      body: { certificate_pem, private_key_pem },
    })
    const encrypted = await runOrThrow(
      'openssl',
      'pkey',
      '-in',
      leaf.files.key,
      '-aes256',
      '-passout',
      'pass:x',
    )
    const cases = [
      { ...upload(undefined, leaf.key), code: 1922, field: 'certificate_pem' },
      { ...upload(leaf.certificate, undefined), code: 1901, field: 'private_key_pem' },
      { ...upload('', leaf.key), code: 1919 },
      { ...upload('hello', leaf.key), code: 1920 },
      { ...upload(leaf.certificate, root.key), code: 1923 },
      { ...upload(leaf.key, leaf.certificate), code: 1924 },
      { ...upload(leaf.certificate, leaf.certificate), code: 1925 },
      { ...upload(root.certificate + leaf.certificate, leaf.key), code: 1926 },
      { ...upload(leaf.certificate, encrypted), code: 1902 },
      { ...upload(leaf.certificate, leaf.key.replace(/[A-Za-z]{12}/, 'AAAAAAAAAAAA')), code: 1903 },
      { ...upload('-'.repeat(65_537), leaf.key), code: 1921 },
      { path: '/certificate_authorities', body: { ca_pem: leaf.certificate }, code: 1913 },
      { path: '/certificate_authorities', body: { ca_pem: root.certificate + root.certificate }, code: 1912 },
      { path: '/certificate_authorities', body: {}, code: 1922 },
    ]
    for (const refused of cases)
      await assertRefused(api(), refused, ['/tls_certificates', '/certificate_authorities'])
  })
})

suite('SSH certificates from the API', () => {
  let server: TestServer
  let folder: Folder
  let publicKey: string
  before(async () => {
    server = await startServer()
    folder = new Folder()
    publicKey = await newSshKey(folder, 'user', 'ed25519')
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })
  const authority = (api: Caller, body: object = {}) =>
    createResource(api, '/ssh_certificate_authorities', body)

  for (const [body, keyType] of [
    [{}, 'ed25519'],
    [{ private_key_type: 'rsa', key_size: 2048 }, 'rsa'],
    [{ private_key_type: 'ecdsa', elliptic_curve: '384' }, 'ecdsa'],
  ] as const) {
    test(`are signed by an authority of type ${keyType}`, async () => {
      const ca = await authority(server.api, body)
      assert.equal(ca.key_type, keyType)
      assert.equal(ca.private_key, undefined)
      const certificate = await createResource(server.api, '/ssh_user_certificates', {
        ssh_certificate_authority_id: ca.id,
        public_key: publicKey,
        principals: ['deploy'],
        critical_options: { 'source-address': '127.0.0.0/8' },
      })
      assert.deepEqual(certificate.extensions, { 'permit-pty': '', 'permit-user-rc': '' })
      assert.equal(certificate.key_type, 'ed25519')
      const day = Date.parse(certificate.valid_until) - Date.parse(certificate.valid_after)
      assert.equal(day, 86_400_000)
      const shown = await runOrThrow(
        'ssh-keygen',
        '-L',
        '-f',
        await folder.write('shown-cert.pub', certificate.certificate),
      )
      for (const part of [
        `Key ID: "${certificate.id}"`,
        'Serial: 0',
        'user certificate',
        'deploy',
        'source-address 127.0.0.0/8',
      ]) {
        assert.ok(shown.includes(part), `${part} in ${shown}`)
      }
    })
  }

  test('are accepted by a real sshd, for their principals and source addresses', async () => {
    const ca = await authority(server.api)
    await using sshd = await startSshd(folder, [
      `HostKey ${await hostKey(folder)}`,
      `TrustedUserCAKeys ${await folder.write('ca.pub', ca.public_key)}`,
    ])
    const enter = async (body: object) => {
      const given = {
        ssh_certificate_authority_id: ca.id,
        public_key: publicKey,
        principals: ['root'],
        ...body,
      }
      const { certificate } = await createResource(server.api, '/ssh_user_certificates', given)
      await folder.write('user-cert.pub', certificate)
      const options = [
        'StrictHostKeyChecking=no',
        'UserKnownHostsFile=/dev/null',
        `IdentityFile=${folder.file('user')}`,
        `CertificateFile=${folder.file('user-cert.pub')}`,
      ]
      return ssh(sshd, options, 'echo in')
    }
    assert.equal((await enter({})).stdout, 'in\n')
    assert.equal((await enter({ critical_options: { 'force-command': 'echo forced' } })).stdout, 'forced\n')
    assert.notEqual((await enter({ principals: ['someone'] })).code, 0)
    assert.notEqual((await enter({ critical_options: { 'source-address': '192.0.2.0/24' } })).code, 0)
    assert.notEqual(
      (await enter({ valid_after: '2020-01-01T00:00:00Z', valid_until: '2020-01-02T00:00:00Z' })).code,
      0,
    )
  })

  test('of hosts are valid for a year, and known by their principals', async () => {
    const ca = await authority(server.api)
    const certificate = await createResource(server.api, '/ssh_host_certificates', {
      ssh_certificate_authority_id: ca.id,
      public_key: publicKey,
      principals: ['host.example.com'],
    })
    const shown = await runOrThrow(
      'ssh-keygen',
      '-L',
      '-f',
      await folder.write('host-cert.pub', certificate.certificate),
    )
    assert.match(shown, /host certificate/)
    assert.equal(Date.parse(certificate.valid_until) - Date.parse(certificate.valid_after), 365 * 86_400_000)
    await assertRefused(server.api, {
      method: 'DELETE',
      path: `/ssh_certificate_authorities/${ca.id}`,
      code: 1964,
    })
    assert.equal(
      (await server.api.patch(`/ssh_host_certificates/${certificate.id}`, { description: 'x' })).body
        .certificate,
      certificate.certificate,
    )
  })

  test('with invalid options are refused', async () => {
    const { id } = await authority(server.api)
    const base = { ssh_certificate_authority_id: id, public_key: publicKey }
    const user = (body: object, code: number, path = '/ssh_user_certificates') => ({
      path,
      body: { ...base, ...body },
      code,
    })
    const cases = [
      ...['a,b', 'a b', 'a\nb', 'a\u0007', ''].map(principal => user({ principals: [principal] }, 90008)),
      user({ valid_after: '2030-01-01T00:00:00Z', valid_until: '2030-01-01T00:00:00Z' }, 1943),
      user({ valid_until: 'tomorrow' }, 215),
      user({ critical_options: { 'verify-required': '' } }, 90009),
      user({ critical_options: { 'source-address': 'everywhere' } }, 90009),
      user({ extensions: { 'permit-everything': '' } }, 90009),
      user({ public_key: 'ssh-ed25519 AAAA' }, 1934),
      user({ public_key: undefined }, 1952),
      user({ ssh_certificate_authority_id: `sshca_${'0'.repeat(27)}` }, 1949),
      user({ ssh_certificate_authority_id: `ca_${'0'.repeat(27)}` }, 223),
      user({ principals: ['a,b'] }, 90008, '/ssh_host_certificates'),
    ]
    for (const refused of cases)
      await assertRefused(server.api, refused, ['/ssh_user_certificates', '/ssh_host_certificates'])
    const ca = (body: object, code: number) => ({ path: '/ssh_certificate_authorities', body, code })
    for (const refused of [
      ca({ private_key_type: 'dsa' }, 1936),
      ca({ private_key_type: 'rsa', key_size: 1024 }, 1939),
      ca({ private_key_type: 'ed25519', key_size: 2048 }, 1940),
      ca({ private_key_type: 'ecdsa', elliptic_curve: '512' }, 1941),
      ca({ private_key_type: 'rsa', elliptic_curve: '256' }, 1942),
    ]) {
      await assertRefused(server.api, refused, ['/ssh_certificate_authorities'])
    }
  })

  test('and public keys open tunnels: each is registered once', async () => {
    const created = await createResource(server.api, '/ssh_credentials', {
      public_key: publicKey,
      acl: ['bind:*.example.com', 'bind:a=b', 'bind:1.tcp.adit.localhost:20000', '*'],
    })
    assert.match(created.id, /^sshcr_/)
    await assertRefused(
      server.api,
      { path: '/ssh_credentials', body: { public_key: publicKey }, code: 609, says: /sshcr_/ },
      ['/ssh_credentials'],
    )
    await assertRefused(
      server.api,
      { path: '/ssh_credentials', body: { public_key: 'nonsense' }, code: 612 },
      ['/ssh_credentials'],
    )
    await assertRefused(server.api, { path: '/ssh_credentials', body: {}, code: 611 }, ['/ssh_credentials'])
    assert.equal(
      (await server.api.get(`/credentials/${created.id}`)).status,
      404,
      'the shared prefix does not mix the kinds up',
    )
  })
})

async function hostKey(folder: Folder): Promise<string> {
  await newSshKey(folder, 'host', 'ed25519')
  return folder.file('host')
}
