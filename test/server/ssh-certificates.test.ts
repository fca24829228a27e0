import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, before, suite, test } from 'node:test'
import { ssh, Upstream, type SshProcess } from '../ssh/support.ts'
import { createResource } from '../support/each-store.ts'
import { runOrThrow, newSshKey } from '../support/openssh.ts'
import { spawnServer, type Process } from '../support/server.ts'
import { until } from '../support/until.ts'
import { Folder, newFolder } from '../support/folder.ts'

const MAY_FORWARD = { extensions: { 'permit-port-forwarding': '' } }
const BODY = 'from behind ssh'

suite('a user certificate from the API, at the SSH gateway of a server,', () => {
  const dataDir = newFolder()
  let server: Process
  let folder: Folder
  let upstream: Upstream
  let publicKey: string

  before(async () => {
    server = await spawnServer(dataDir)
    folder = new Folder()
    publicKey = await newSshKey(folder, 'user', 'ed25519')
    upstream = await Upstream.start(socket =>
      socket.once('data', () =>
        socket.end(`HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length}\r\nConnection: close\r\n\r\n${BODY}`),
      ),
    )
  })
  after(async () => {
    await server.end('SIGTERM')
    await upstream[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
    rmSync(dataDir, { recursive: true })
  })

  interface Made {
    readonly authority: { readonly id: string; readonly public_key: string }
    readonly certificate: { readonly id: string; readonly certificate: string }
  }

  /** An authority of its own and a certificate for ann. */
  async function issue(body: object = MAY_FORWARD, authorityBody: object = {}): Promise<Made> {
    const authority = await createResource(server.api, '/ssh_certificate_authorities', authorityBody)
    const certificate = await createResource(server.api, '/ssh_user_certificates', {
      ssh_certificate_authority_id: authority.id,
      public_key: publicKey,
      principals: ['ann'],
      ...body,
    })
    return { authority, certificate }
  }

  /** Requests a tunnel with a plain ssh client. */
  async function forward(certificate: string, user = 'ann'): Promise<SshProcess> {
    return ssh({
      port: server.bound.ssh?.port ?? 0,
      user,
      key: folder.file('user'),
      options: [`CertificateFile=${await folder.write('shown-cert.pub', certificate)}`, 'LogLevel=INFO'],
      flags: ['-R', `80:127.0.0.1:${upstream.port}`],
      command: ['http'],
    })
  }

  async function fetchThrough(client: SshProcess): Promise<string> {
    const url = /^(http:\S+) -> -R/m.exec(client.stdout)?.[1] ?? assert.fail(client.stdout)
    const { hostname } = new URL(url)
    const port = server.bound.http?.port ?? 0
    return runOrThrow(
      'curl',
      '-sS',
      '--max-time',
      '10',
      '-H',
      `Host: ${hostname}`,
      `http://127.0.0.1:${port}/`,
    )
  }

  async function assertDenied(certificate: string, reason: string, user?: string): Promise<void> {
    const logged = server.output().length
    await using client = await forward(certificate, user)
    assert.equal(await client.ended, 255)
    assert.match(client.stderr, /Permission denied \(publickey\)/)
    assert.equal(client.stdout, '')
    // The client gets the same message for all rejections; the log has the reason, perhaps a moment later.
    await until(() => server.output().includes(`"reason":"${reason}"`, logged))
  }

  for (const body of [
    { private_key_type: 'ed25519' },
    { private_key_type: 'rsa', key_size: 2048 },
    { private_key_type: 'ecdsa', elliptic_curve: '256' },
  ])
    test(`opens a tunnel that clients reach (${body.private_key_type} authority)`, async () => {
      const { authority, certificate } = await issue(MAY_FORWARD, body)
      await using client = await forward(certificate.certificate)
      await client.waitForOutput(/-> -R/)
      assert.equal(await fetchThrough(client), BODY)
      const { tunnel_sessions: sessions } = (await server.api.get('/tunnel_sessions')).body
      assert.ok(sessions.some((one: { credential: { id: string } }) => one.credential.id === authority.id))
    })

  test('without permission to forward is refused with the missing extension', async () => {
    const { certificate } = await issue({})
    await using client = await forward(certificate.certificate)
    assert.equal(await client.ended, 1)
    assert.match(
      client.stderr,
      /Your certificate does not allow tunnels: it needs the extension permit-port-forwarding\./,
    )
    assert.doesNotMatch(client.stdout, /-> -R/)
  })

  test('for another principal is refused', async () => {
    const { certificate } = await issue()
    await assertDenied(certificate.certificate, 'wrong_principal', 'bob')
  })

  test('of an authority that was deleted is refused', async () => {
    const { authority, certificate } = await issue()
    for (const path of [
      `/ssh_user_certificates/${certificate.id}`,
      `/ssh_certificate_authorities/${authority.id}`,
    ])
      assert.equal((await server.api.delete(path)).status, 204)
    await assertDenied(certificate.certificate, 'unknown_authority')
  })

  test('of an unregistered authority is refused', async () => {
    await newSshKey(folder, 'home', 'ed25519')
    const sign = ['-q', '-s', folder.file('home'), '-I', 'id', '-n', 'ann', '-O', 'permit-port-forwarding']
    await runOrThrow('ssh-keygen', ...sign, folder.file('user.pub'))
    const certificate = await folder.read('user-cert.pub')
    rmSync(folder.file('user-cert.pub'))
    await assertDenied(certificate, 'unknown_authority')
  })
})
