import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { signSshCertificate, type UserCertificateRequest } from '#pki/ssh-certificate.ts'
import { readSshPublicKey } from '#pki/ssh-key.ts'
import { readSshCertificate, verifySshCertificate } from '#pki/ssh-verify.ts'
import { runOrThrow } from '../support/openssh.ts'
import { AUTHORITIES, HOUR, NOW, SUBJECTS, SshFixture, expectation, refusal, refused } from './ssh-fixture.ts'

let keys: SshFixture

before(async () => {
  keys = await SshFixture.make()
})

after(() => keys[Symbol.asyncDispose]())

/** What `ssh-keygen -L` prints of a certificate, in UTC and without the indentation. */
async function list(certificate: string): Promise<string[]> {
  const file = await keys.folder.write('listed-cert.pub', certificate)
  const text = await runOrThrow('env', 'TZ=UTC', 'ssh-keygen', '-L', '-f', file)
  return text.split('\n').map(line => line.trim())
}

suite('a certificate', () => {
  for (const ca of Object.keys(AUTHORITIES))
    for (const key of Object.keys(SUBJECTS))
      test(`for a ${key} key signed by a ${ca} authority is parsed by ssh-keygen with the same contents`, async () => {
        const made = await signSshCertificate(
          keys.request({ publicKey: keys.subject(key) }),
          keys.authority(ca).privateKeyPem,
        )
        const printed = await list(made)
        const { algorithm, fingerprint } = readSshPublicKey(keys.subject(key))
        const signer = readSshPublicKey(keys.authority(ca).publicKey).fingerprint
        const certified = algorithm.replace('@openssh.com', '')
        assert.equal(printed[1], `Type: ${certified}-cert-v01@openssh.com user certificate`)
        assert.ok(printed[2]?.endsWith(` ${fingerprint}`))
        assert.ok(printed[3]?.includes(signer))
        assert.match(printed[3] ?? '', /\(using (rsa-sha2-512|ssh-ed25519|ecdsa-sha2-nistp\d+)\)$/)
        assert.deepEqual(printed.slice(4), [
          'Key ID: "sucrt_2abc"',
          'Serial: 0',
          'Valid: from 2026-05-06T07:08:09 to 2026-05-06T08:08:09',
          'Principals:',
          'root',
          'ec2-user',
          'Critical Options: (none)',
          'Extensions:',
          'permit-pty',
          'permit-user-rc',
          '',
        ])
        assert.ok(made.endsWith(' sucrt_2abc'))
        assert.deepEqual(verifySshCertificate(readSshCertificate(made), expectation(keys.authority(ca))), {
          accepted: true,
        })
      })

  test('lists its options in order', async () => {
    const criticalOptions = {
      'source-address': '10.0.0.0/8,2001:db8::/32,::1',
      'force-command': '/bin/echo "a b"',
    }
    const extensions = {
      'permit-pty': '',
      'team@example.com': 'blue',
      'no-touch-required': '',
      'empty@example.com': '',
    }
    const printed = await list(
      await signSshCertificate(keys.request({ criticalOptions, extensions }), keys.authority().privateKeyPem),
    )
    assert.deepEqual(printed.slice(10, 13), [
      'Critical Options:',
      'force-command /bin/echo "a b"',
      'source-address 10.0.0.0/8,2001:db8::/32,::1',
    ])
    assert.deepEqual(
      printed.slice(14, -1).map(line => line.split(' ')[0]),
      ['empty@example.com', 'no-touch-required', 'permit-pty', 'team@example.com'],
    )
  })

  test('of a host has no options', async () => {
    const {
      type: _,
      criticalOptions: __,
      extensions: ___,
      ...common
    } = keys.request({ principals: ['a.example'] })
    const printed = await list(
      await signSshCertificate({ ...common, type: 'host' }, keys.authority().privateKeyPem),
    )
    assert.equal(printed[1], 'Type: ssh-ed25519-cert-v01@openssh.com host certificate')
    assert.deepEqual(printed.slice(7, -1), [
      'Principals:',
      'a.example',
      'Critical Options: (none)',
      'Extensions: (none)',
    ])
  })

  test('differs each time by its nonce', async () => {
    const made = await Promise.all(
      [1, 2].map(() => signSshCertificate(keys.request(), keys.authority().privateKeyPem)),
    )
    assert.notEqual(made[0], made[1])
  })

  test('takes as many and as long principals as OpenSSH does, and none', async () => {
    const principals = Array.from({ length: 256 }, (_, index) => `${index}`.padStart(255, 'p'))
    const made = readSshCertificate(
      await signSshCertificate(keys.request({ principals }), keys.authority().privateKeyPem),
    )
    assert.deepEqual(made.principals, principals)
    const none = readSshCertificate(
      await signSshCertificate(keys.request({ principals: [] }), keys.authority().privateKeyPem),
    )
    assert.deepEqual(verifySshCertificate(none, expectation(keys.authority())), refused('wrong_principal'))
  })

  const cases: Record<string, [string, Partial<UserCertificateRequest>]> = {
    'with an empty principal': ['bad_principal', { principals: [''] }],
    'with a comma in a principal': ['bad_principal', { principals: ['root,admin'] }],
    'with white space in a principal': ['bad_principal', { principals: ['root admin'] }],
    'with a line break in a principal': ['bad_principal', { principals: ['root\n'] }],
    'with a principal of 256 bytes': ['bad_principal', { principals: ['ä'.repeat(128)] }],
    'with 257 principals': ['bad_principal', { principals: Array<string>(257).fill('a') }],
    'that ends when it starts': ['bad_validity', { validUntil: new Date(NOW + 999) }],
    'that ends before it starts': ['bad_validity', { validUntil: new Date(NOW - HOUR) }],
    'that starts before 1970': ['bad_validity', { validAfter: new Date(-1) }],
    'without a moment': ['bad_validity', { validUntil: new Date('never') }],
    'with an unknown critical option': ['bad_option', { criticalOptions: { 'verify-required': '' } }],
    'with an empty command': ['bad_option', { criticalOptions: { 'force-command': '' } }],
    'with two lines of command': ['bad_option', { criticalOptions: { 'force-command': 'a\nb' } }],
    'with an unknown extension': ['bad_option', { extensions: { 'permit-everything': '' } }],
    'with a value for a flag': ['bad_option', { extensions: { 'permit-pty': 'yes' } }],
    'with a key id of several lines': ['bad_key_id', { keyId: 'a\nb' }],
  }
  for (const [sentence, [code, changes]] of Object.entries(cases))
    test(`is refused ${sentence}`, async () => {
      await assert.rejects(
        signSshCertificate(keys.request(changes), keys.authority().privateKeyPem),
        refusal(code),
      )
    })

  for (const value of [
    '',
    ' 10.0.0.0/8',
    '10.0.0.1/8',
    '10.0.0.0/33',
    '10.0.0.0/',
    '2001:db8::1/32',
    '!10.0.0.0/8',
  ])
    test(`is refused with the source address "${value}"`, async () => {
      const criticalOptions = { 'source-address': value }
      await assert.rejects(
        signSshCertificate(keys.request({ criticalOptions }), keys.authority().privateKeyPem),
        refusal('bad_option'),
      )
    })
})
