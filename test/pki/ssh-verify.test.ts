import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { readSshCertificate, verifySshCertificate, type Expectation } from '#pki/ssh-verify.ts'
import { runOrThrow, newSshKey } from '../support/openssh.ts'
import { SUBJECTS, SshFixture, expectation, refused } from './ssh-fixture.ts'

let keys: SshFixture

before(async () => {
  keys = await SshFixture.make()
})

after(() => keys[Symbol.asyncDispose]())

suite('a certificate made by ssh-keygen', () => {
  for (const [name, [type, bits]] of Object.entries(SUBJECTS))
    test(`with ${name} keys is accepted, and refused when one bit of it changes`, async () => {
      const ca = await newSshKey(keys.folder, `ca ${name}`, type, bits)
      const { blob, certificate } = await keygenCertificate(`ca ${name}`, `subject ${name}`, '-n', 'root')
      const expected = { ...expectation({ publicKey: ca }), now: Date.now() }
      assert.deepEqual(verifySshCertificate(certificate, expected), { accepted: true })
      assert.equal(certificate.keyId, 'made')
      const flipped = Buffer.from(blob)
      const nonce = 4 + blob.readUInt32BE() + 4
      flipped.writeUInt8(flipped.readUInt8(nonce) ^ 1, nonce)
      assert.deepEqual(verifySshCertificate(readSshCertificate(flipped), expected), refused('bad_signature'))
    })

  test('is refused for every other use', async () => {
    const ca = await newSshKey(keys.folder, 'ca', 'ed25519')
    const expected = { ...expectation({ publicKey: ca }), now: Date.now() }
    const verdict = async (changes: Partial<Expectation>, ...options: string[]) => {
      const { certificate } = await keygenCertificate('ca', 'subject ed25519', '-n', 'root', ...options)
      return verifySshCertificate(certificate, { ...expected, ...changes })
    }
    const bound = ['-O', 'source-address=127.0.0.0/8']
    assert.deepEqual(await verdict({}, '-V', '-1h:+1h'), { accepted: true })
    assert.deepEqual(await verdict({ address: '127.0.0.1' }, ...bound), { accepted: true })
    assert.deepEqual(await verdict({ address: '10.0.0.1' }, ...bound), refused('wrong_address'))
    assert.deepEqual(await verdict({}, ...bound), refused('wrong_address'))
    assert.deepEqual(await verdict({}, '-V', '-2h:-1h'), refused('expired'))
    assert.deepEqual(await verdict({}, '-V', '+1h:+2h'), refused('not_yet_valid'))
    assert.deepEqual(await verdict({ principal: 'admin' }), refused('wrong_principal'))
    assert.deepEqual(await verdict({}, '-h'), refused('wrong_type'))
    assert.deepEqual(await verdict({}, '-O', 'critical:new@example.com=1'), refused('unknown_option'))
    assert.deepEqual(await verdict({ authorities: [] }), refused('unknown_authority'))
  })

  test('with a SHA-1 signature is refused', async () => {
    const ca = await newSshKey(keys.folder, 'old ca', 'rsa', 2048)
    const { certificate } = await keygenCertificate(
      'old ca',
      'subject ed25519',
      '-n',
      'root',
      '-t',
      'ssh-rsa',
    )
    const expected = { ...expectation({ publicKey: ca }), now: Date.now() }
    assert.deepEqual(verifySshCertificate(certificate, expected), refused('bad_signature'))
  })
})

async function keygenCertificate(ca: string, key: string, ...options: string[]) {
  const file = await keys.folder.write('to-sign.pub', await keys.folder.read(`${key}.pub`))
  await runOrThrow('ssh-keygen', '-q', '-s', keys.folder.file(ca), '-I', 'made', ...options, file)
  const line = await keys.folder.read('to-sign-cert.pub')
  return { blob: Buffer.from(line.split(' ')[1] ?? '', 'base64'), certificate: readSshCertificate(line) }
}
