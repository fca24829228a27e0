import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { createResource } from '../support/each-store.ts'
import { newSshKey, ssh, startSshd, type Outcome, type Sshd } from '../support/openssh.ts'
import { startServer, type TestServer } from '../support/server.ts'
import { Folder } from '../support/folder.ts'

interface Authority {
  readonly id: string
  readonly public_key: string
}

suite('a host certificate from the API', () => {
  let server: TestServer
  let folder: Folder
  let hostKey: string
  let userKey: string

  before(async () => {
    server = await startServer()
    folder = new Folder()
    hostKey = await newSshKey(folder, 'host', 'ed25519')
    userKey = await newSshKey(folder, 'user', 'ed25519')
  })
  after(async () => {
    await server[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  const newAuthority = (body: object = {}): Promise<Authority> =>
    createResource(server.api, '/ssh_certificate_authorities', body)

  /** A real sshd that shows the certificate, and accepts users of the same CA. */
  async function startHost(authority: Authority, body: object): Promise<Sshd> {
    const { certificate } = await createResource(server.api, '/ssh_host_certificates', {
      ssh_certificate_authority_id: authority.id,
      public_key: hostKey,
      ...body,
    })
    return startSshd(folder, [
      `HostKey ${folder.file('host')}`,
      `HostCertificate ${await folder.write('host-cert.pub', certificate)}`,
      `TrustedUserCAKeys ${await folder.write('people.pub', authority.public_key)}`,
    ])
  }

  /** Signs in at localhost as root, knowing of that host only who vouches for it. */
  async function enter(host: Sshd, people: Authority, trusted = people): Promise<Outcome> {
    const { certificate } = await createResource(server.api, '/ssh_user_certificates', {
      ssh_certificate_authority_id: people.id,
      public_key: userKey,
      principals: ['root'],
    })
    const known = await folder.write('known_hosts', `@cert-authority localhost ${trusted.public_key}`)
    const options = [
      'HostName=localhost',
      'StrictHostKeyChecking=yes',
      `UserKnownHostsFile=${known}`,
      `IdentityFile=${folder.file('user')}`,
      `CertificateFile=${await folder.write('user-cert.pub', certificate)}`,
    ]
    return ssh(host, options, 'echo in')
  }

  function assertRefused(outcome: Outcome, reason: RegExp): void {
    assert.deepEqual([outcome.code, outcome.stdout], [255, ''])
    assert.match(outcome.stderr, reason)
    assert.match(outcome.stderr, /Host key verification failed/)
  }

  for (const body of [
    { private_key_type: 'ed25519' },
    { private_key_type: 'rsa', key_size: 2048 },
    { private_key_type: 'ecdsa', elliptic_curve: '256' },
  ])
    test(`makes ssh trust an unknown host (${body.private_key_type} authority)`, async () => {
      const authority = await newAuthority(body)
      await using host = await startHost(authority, { principals: ['web.example', 'localhost'] })
      assert.deepEqual(await enter(host, authority), { code: 0, stdout: 'in\n', stderr: '' })
    })

  test('for another name is refused', async () => {
    const authority = await newAuthority()
    await using host = await startHost(authority, { principals: ['web.example'] })
    assertRefused(await enter(host, authority), /name is not a listed principal/)
  })

  test('that has expired is refused', async () => {
    const authority = await newAuthority()
    const past = { valid_after: '2020-01-01T00:00:00Z', valid_until: '2020-01-02T00:00:00Z' }
    await using host = await startHost(authority, { principals: ['localhost'], ...past })
    assertRefused(await enter(host, authority), /Certificate invalid: expired/)
  })

  test('of another authority is refused', async () => {
    const authority = await newAuthority()
    await using host = await startHost(authority, { principals: ['localhost'] })
    assertRefused(await enter(host, authority, await newAuthority()), /host key is known|No .* host key/)
  })
})
