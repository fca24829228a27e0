import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { newSshAuthority } from '#pki/ssh-authority.ts'
import { signSshCertificate } from '#pki/ssh-certificate.ts'
import { readSshPublicKey } from '#pki/ssh-key.ts'
import { runOrThrow, newSshKey } from '../support/openssh.ts'
import { AUTHORITIES, SUBJECTS, SshFixture, refusal } from './ssh-fixture.ts'

let keys: SshFixture

before(async () => {
  keys = await SshFixture.make()
})

after(() => keys[Symbol.asyncDispose]())

suite('a public key', () => {
  for (const [name, [, , keyType]] of Object.entries(SUBJECTS))
    test(`of type ${name} is read as ssh-keygen reads it`, async () => {
      const key = readSshPublicKey(`\t${keys.subject(name)}\r\n`)
      assert.deepEqual(
        [key.keyType, key.line, key.comment],
        [keyType, keys.subject(name), `subject ${name}@test`],
      )
      const printed = await runOrThrow('ssh-keygen', '-l', '-f', keys.folder.file(`subject ${name}.pub`))
      assert.equal(printed.split(' ')[1], key.fingerprint)
    })

  test('is shown with single spaces and without a comment when it has none', () => {
    const [type, data] = keys.subject().split(' ')
    assert.equal(readSshPublicKey(`${type} \t ${data}  `).line, `${type} ${data}`)
  })

  for (const [name, fields] of Object.entries({
    'sk-ssh-ed25519@openssh.com': [Buffer.alloc(32, 9), 'ssh:'],
    'sk-ecdsa-sha2-nistp256@openssh.com': ['nistp256', 'point', 'ssh:'],
  }))
    test(`in a security token (${name}) is read`, async () => {
      const point = readSshPublicKey(keys.subject('nistp256')).blob.subarray(-65)
      const line = keyLine(name, ...fields.map(field => (field === 'point' ? point : field)))
      const file = await keys.folder.write('token.pub', line)
      const { fingerprint } = readSshPublicKey(line)
      assert.equal((await runOrThrow('ssh-keygen', '-l', '-f', file)).split(' ')[1], fingerprint)
    })

  const cases: Record<string, [string, () => string | Promise<string>]> = {
    'with options': ['bad_public_key', () => `no-pty ${keys.subject()}`],
    'with options in quotes': ['bad_public_key', () => `command="ls -l" ${keys.subject()}`],
    'on two lines': ['bad_public_key', () => `${keys.subject()}\n${keys.subject('nistp256')}`],
    'that is empty': ['bad_public_key', () => ' '],
    'with a control character in its comment': ['bad_public_key', () => `${keys.subject()} a\u0007b`],
    'with a type that its data denies': [
      'bad_public_key',
      () => keys.subject().replace('ssh-ed25519', 'ssh-rsa'),
    ],
    'with bytes after its end': ['bad_public_key', () => keyLine('ssh-ed25519', Buffer.alloc(32), 'more')],
    'that is cut short': ['bad_public_key', () => keys.subject().replace(/\S{8} subject.*$/, '')],
    'with a length past its end': [
      'bad_public_key',
      () => `ssh-ed25519 ${Buffer.from('ffffffff00', 'hex').toString('base64')}`,
    ],
    'with a point that is not on its curve': [
      'bad_public_key',
      () => keyLine('ecdsa-sha2-nistp256', 'nistp256', Buffer.concat([Buffer.of(4), Buffer.alloc(64, 1)])),
    ],
    'with a curve of another size': [
      'bad_public_key',
      () =>
        keyLine(
          'ecdsa-sha2-nistp256',
          'nistp384',
          readSshPublicKey(keys.subject('nistp384')).blob.subarray(-97),
        ),
    ],
    'with base64 that could be written otherwise': [
      'bad_public_key',
      () => keys.subject().replace(/(\S+ \S+).*/, '$1='),
    ],
    'with more than 16 KiB': ['bad_public_key', () => `${keys.subject()} ${'x'.repeat(16_384)}`],
    'of 1024 bits': ['unsupported_key', () => newSshKey(keys.folder, 'small', 'rsa', 1024)],
    'of type DSA': ['unsupported_key', () => keyLine('ssh-dss', Buffer.of(1), Buffer.of(1))],
    'that is a certificate': [
      'bad_public_key',
      () => signSshCertificate(keys.request(), keys.authority().privateKeyPem),
    ],
  }
  for (const [sentence, [code, given]] of Object.entries(cases))
    test(`is refused ${sentence}`, async () => {
      const line = await given()
      assert.throws(() => readSshPublicKey(line), refusal(code))
    })
})

suite('an SSH authority', () => {
  test('gets an Ed25519 key by default, and 4096 bits when it is RSA', async () => {
    assert.equal((await newSshAuthority()).keyType, 'ed25519')
    const { publicKey } = await newSshAuthority({ keyType: 'rsa' })
    const file = await keys.folder.write('default.pub', publicKey)
    assert.match(await runOrThrow('ssh-keygen', '-l', '-f', file), /^4096 /)
  })

  for (const name of Object.keys(AUTHORITIES))
    test(`of type ${name} has the public key that ssh-keygen derives from its private key`, async () => {
      const { privateKeyPem, publicKey } = keys.authority(name)
      const file = await keys.folder.write('authority', privateKeyPem.reveal())
      const derived = await runOrThrow('openssl', 'pkey', '-in', file, '-pubout')
      const printed =
        keys.authority(name).keyType === 'ed25519'
          ? publicKey // ssh-keygen imports no Ed25519 key in PKCS #8; sshd.test.ts covers it
          : await runOrThrow(
              'ssh-keygen',
              '-i',
              '-m',
              'PKCS8',
              '-f',
              await keys.folder.write('authority.pem', derived),
            )
      assert.equal(publicKey, printed.trim())
    })

  const cases = {
    bad_key_type: { keyType: 'dsa' },
    bad_key_size: { keyType: 'rsa', bits: 1024 },
    bad_curve: { keyType: 'ecdsa', curve: 'secp256k1' },
    size_needs_rsa: { keyType: 'ed25519', bits: 2048 },
    curve_needs_ecdsa: { keyType: 'rsa', curve: 'nistp256' },
  }
  for (const [code, wish] of Object.entries(cases))
    test(`is refused for ${JSON.stringify(wish)}`, async () => {
      await assert.rejects(async () => newSshAuthority(wish), refusal(code))
    })
})

/** An authorized_keys line of the fields given, which need not be a key. */
function keyLine(name: string, ...fields: readonly (string | Buffer)[]): string {
  const parts = [name, ...fields].map(field => {
    const bytes = Buffer.from(field)
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    return Buffer.concat([length, bytes])
  })
  return `${name} ${Buffer.concat(parts).toString('base64')}`
}
