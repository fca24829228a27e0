import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { newSshAuthority, type SshAuthority } from '#pki/ssh-authority.ts'
import { signSshCertificate, type UserCertificateRequest } from '#pki/ssh-certificate.ts'
import { newSshKey, ssh, startSshAgent, startSshd, type Outcome, type Sshd } from '../support/openssh.ts'
import { Folder } from '../support/folder.ts'

const HOUR = 3_600_000
const TYPES = ['rsa', 'ecdsa', 'ed25519']

let folder: Folder
let sshd: Sshd
let hostKey: string
const authorities = new Map<string, SshAuthority>()
const publicKeys = new Map<string, string>()

const valueOf = <Value>(map: Map<string, Value>, name: string): Value => map.get(name) ?? assert.fail(name)

before(async () => {
  folder = new Folder()
  hostKey = await newSshKey(folder, 'host', 'ed25519')
  for (const type of [...TYPES, 'stranger']) {
    authorities.set(type, await newSshAuthority(type === 'stranger' ? {} : { keyType: type }))
    publicKeys.set(type, await newSshKey(folder, type, type === 'stranger' ? 'ed25519' : type))
  }
  const trusted = TYPES.map(type => valueOf(authorities, type).publicKey)
  const trustedFile = await folder.write('trusted', trusted.join('\n'))
  sshd = await startSshd(folder, [`HostKey ${folder.file('host')}`, `TrustedUserCAKeys ${trustedFile}`])
})

after(async () => {
  await sshd[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

interface Attempt {
  readonly ca?: string
  readonly key?: string
  readonly command?: string
  readonly changes?: Partial<UserCertificateRequest>
}

/** Signs a certificate with which root may sign in for an hour, unless changed. */
function userCertificate({ ca = 'ed25519', key = 'ed25519', changes = {} }: Attempt = {}): Promise<string> {
  const request: UserCertificateRequest = {
    type: 'user',
    publicKey: valueOf(publicKeys, key),
    keyId: 'sucrt_2abc',
    principals: ['root'],
    criticalOptions: {},
    extensions: { 'permit-pty': '' },
    validAfter: new Date(),
    validUntil: new Date(Date.now() + HOUR),
    ...changes,
  }
  return signSshCertificate(request, valueOf(authorities, ca).privateKeyPem)
}

/** The options with which ssh shows a certificate. */
async function identity(attempt: Attempt = {}): Promise<string[]> {
  const file = await folder.write('id-cert.pub', await userCertificate(attempt))
  return [`IdentityFile=${folder.file(attempt.key ?? 'ed25519')}`, `CertificateFile=${file}`]
}

const signIn = async (attempt: Attempt): Promise<Outcome> =>
  ssh(sshd, [...(await identity(attempt)), await knownHosts()], attempt.command ?? 'echo in')

const knownHosts = async (): Promise<string> =>
  `UserKnownHostsFile=${await folder.write('known_hosts', `[127.0.0.1]:${sshd.port} ${hostKey}`)}`

suite('sshd', () => {
  for (const ca of TYPES)
    for (const key of TYPES)
      test(`accepts the holder of a certificate for a ${key} key from a ${ca} authority`, async () => {
        const outcome = await signIn({ ca, key, command: 'id -un' })
        assert.deepEqual(outcome, { code: 0, stdout: 'root\n', stderr: '' })
        await sshd.logs(/Accepted publickey for root .* ID sucrt_2abc \(serial 0\)/)
      })

  test('runs the command of the certificate and not the requested one', async () => {
    const changes = { criticalOptions: { 'force-command': 'echo "forced $SSH_ORIGINAL_COMMAND"' } }
    assert.equal((await signIn({ changes, command: 'date' })).stdout, 'forced date\n')
  })

  test('accepts a client from an address of the certificate', async () => {
    const changes = { criticalOptions: { 'source-address': '10.0.0.0/8,127.0.0.0/8,2001:db8::/32' } }
    assert.equal((await signIn({ changes })).stdout, 'in\n')
  })

  const past = { validAfter: new Date(Date.now() - 2 * HOUR), validUntil: new Date(Date.now() - HOUR) }
  const future = { validAfter: new Date(Date.now() + HOUR), validUntil: new Date(Date.now() + 2 * HOUR) }
  const refusals: Record<string, [Attempt, RegExp]> = {
    'that has expired': [{ changes: past }, /Certificate invalid: expired/],
    'that is not yet valid': [{ changes: future }, /Certificate invalid: not yet valid/],
    'for another user': [{ changes: { principals: ['admin'] } }, /name is not a listed principal/],
    'without principals': [
      { changes: { principals: [] } },
      /lacks principal list|lists no principals|not a listed principal/,
    ],
    'for another address': [
      { changes: { criticalOptions: { 'source-address': '10.0.0.0/8' } } },
      /not from a permitted source address|not permitted to use this certificate/,
    ],
    'from an unknown authority': [{ ca: 'stranger' }, /Failed publickey for root .* CA ED25519/],
  }
  for (const [sentence, [attempt, reason]] of Object.entries(refusals))
    test(`refuses a certificate ${sentence}`, async () => {
      const logged = sshd.log().length
      const outcome = await signIn(attempt)
      assert.deepEqual([outcome.code, outcome.stdout], [255, ''])
      await sshd.logs(reason, logged)
    })

  test('refuses the certificate of a host', async () => {
    const logged = sshd.log().length
    const publicKey = await newSshKey(folder, 'as-host', 'ed25519')
    await folder.write('as-host-cert.pub', await hostCertificate(publicKey, ['root']))
    // ssh itself keeps such a certificate back; an agent does not.
    await using agent = await startSshAgent(folder, 'as-host')
    const agentOnly = [`IdentityAgent=${agent.socket}`, 'IdentitiesOnly=no', 'IdentityFile=none']
    const outcome = await ssh(sshd, [...agentOnly, await knownHosts()], 'echo in')
    assert.deepEqual([outcome.code, outcome.stdout], [255, ''])
    await sshd.logs(/Certificate invalid: not a user certificate/, logged)
  })
})

suite('ssh', () => {
  const hostCases = {
    'accepts a host by the name in its certificate': ['web.example', ['web.example', '127.0.0.1'], 0],
    'refuses a host whose certificate is for another name': ['db.example', ['web.example'], 255],
  } as const
  for (const [sentence, [name, principals, code]] of Object.entries(hostCases))
    for (const ca of TYPES)
      test(`${sentence} (${ca} authority)`, async () => {
        await using host = await certifiedHost(ca, principals)
        const known = await folder.write(
          'known_cas',
          `@cert-authority *.example ${valueOf(authorities, ca).publicKey}`,
        )
        const user = await identity()
        const outcome = await ssh(
          host,
          [...user, `HostKeyAlias=${name}`, `UserKnownHostsFile=${known}`],
          'echo in',
        )
        assert.deepEqual([outcome.code, outcome.stdout], [code, code === 0 ? 'in\n' : ''])
        if (code !== 0) assert.match(outcome.stderr, /name is not a listed principal/)
      })

  test('refuses a host whose authority it does not know', async () => {
    await using host = await certifiedHost('stranger', ['web.example'])
    const known = await folder.write(
      'known_cas',
      `@cert-authority *.example ${valueOf(authorities, 'rsa').publicKey}`,
    )
    const options = [...(await identity()), 'HostKeyAlias=web.example', `UserKnownHostsFile=${known}`]
    const outcome = await ssh(host, options, 'echo in')
    assert.equal(outcome.code, 255)
    assert.match(outcome.stderr, /Host key verification failed/)
  })
})

function hostCertificate(publicKey: string, principals: readonly string[], ca = 'ed25519'): Promise<string> {
  const [validAfter, validUntil] = [new Date(), new Date(Date.now() + HOUR)]
  const request = {
    type: 'host',
    publicKey,
    keyId: 'shcrt_2abc',
    principals,
    validAfter,
    validUntil,
  } as const
  return signSshCertificate(request, valueOf(authorities, ca).privateKeyPem)
}

async function certifiedHost(ca: string, principals: readonly string[]): Promise<Sshd> {
  const certificate = await folder.write(
    `host-${ca}-cert.pub`,
    await hostCertificate(hostKey, principals, ca),
  )
  const trusted = `TrustedUserCAKeys ${folder.file('trusted')}`
  return startSshd(folder, [`HostKey ${folder.file('host')}`, `HostCertificate ${certificate}`, trusted])
}
