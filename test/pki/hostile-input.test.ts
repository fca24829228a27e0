import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import fc from 'fast-check'
import { readPem, writePem } from '#pki/pem.ts'
import { PkiError } from '#pki/pki-error.ts'
import { signSshCertificate } from '#pki/ssh-certificate.ts'
import { readSshPublicKey } from '#pki/ssh-key.ts'
import { readSshCertificate, verifySshCertificate } from '#pki/ssh-verify.ts'
import { readSourceAddresses } from '#pki/source-address.ts'
import { readAuthority, readCertificate } from '#pki/x509.ts'
import { newCertificateChain, type CertificateChain } from '../support/openssl.ts'
import { SUBJECTS, SshFixture, expectation } from './ssh-fixture.ts'

let family: CertificateChain
let keys: SshFixture

before(async () => {
  family = await newCertificateChain()
  keys = await SshFixture.make()
})

after(async () => {
  family.folder[Symbol.dispose]()
  await keys[Symbol.asyncDispose]()
})

/** Reads something that may be refused, but in no other way than by a PkiError. */
function attempt(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    if (!(error instanceof PkiError)) throw error
  }
}

/** The bytes with some of them replaced, removed or repeated. */
const mutated = (bytes: Buffer): fc.Arbitrary<Buffer> =>
  fc
    .array(fc.tuple(fc.nat(bytes.length), fc.nat(8), fc.uint8Array({ maxLength: 8 })), {
      minLength: 1,
      maxLength: 4,
    })
    .map(edits =>
      edits.reduce(
        (text, [at, drop, put]) => Buffer.concat([text.subarray(0, at), put, text.subarray(at + drop)]),
        bytes,
      ),
    )

fc.configureGlobal({ numRuns: 500 })

const derOf = (pem: string): Buffer => readPem(pem)[0]?.der ?? assert.fail('no block')

suite('hostile input', () => {
  test('of any text is refused by every reader', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.base64String())
    fc.assert(
      fc.property(text, value => {
        for (const read of [
          readPem,
          readAuthority,
          readSshPublicKey,
          readSshCertificate,
          readSourceAddresses,
        ])
          attempt(() => read(value))
        attempt(() => readCertificate(value, value))
        attempt(() => readAuthority(`-----BEGIN CERTIFICATE-----\n${value}\n-----END CERTIFICATE-----\n`))
      }),
    )
  })

  test('in place of a certificate is read or refused', () => {
    fc.assert(
      fc.property(mutated(derOf(family.root.certificate)), der => {
        const pem = writePem({ label: 'CERTIFICATE', der })
        attempt(() => readAuthority(pem))
        attempt(() => readCertificate(pem, family.root.key))
        attempt(() => readCertificate(family.middle.certificate + pem, family.middle.key))
      }),
    )
  })

  test('in place of a private key is read or refused', () => {
    fc.assert(
      fc.property(mutated(derOf(family.leaf.key)), der =>
        attempt(() => readCertificate(family.leaf.certificate, writePem({ label: 'PRIVATE KEY', der }))),
      ),
    )
  })

  for (const name of Object.keys(SUBJECTS)) {
    test(`in place of a ${name} public key is read or refused`, () => {
      const { algorithm, blob } = readSshPublicKey(keys.subject(name))
      fc.assert(
        fc.property(mutated(blob), bytes =>
          attempt(() => readSshPublicKey(`${algorithm} ${bytes.toString('base64')}`)),
        ),
      )
    })

    test(`in place of a certificate of a ${name} key never passes the check`, async () => {
      const authority = keys.authority(name)
      const line = await signSshCertificate(
        keys.request({ publicKey: keys.subject(name) }),
        authority.privateKeyPem,
      )
      const blob = Buffer.from(line.split(' ')[1] ?? '', 'base64')
      const expected = expectation(authority)
      fc.assert(
        fc.property(mutated(blob), bytes =>
          attempt(() => {
            const { accepted } = verifySshCertificate(readSshCertificate(bytes), expected)
            assert.equal(accepted, bytes.equals(blob))
          }),
        ),
      )
    })
  }

  test('of more than one block is read as it was written', () => {
    const label = fc.constantFrom('CERTIFICATE', 'PRIVATE KEY')
    const block = fc
      .tuple(label, fc.uint8Array({ minLength: 1, maxLength: 200 }))
      .map(([name, bytes]) => ({ label: name, der: Buffer.from(bytes) }))
    fc.assert(
      fc.property(fc.array(block, { minLength: 1, maxLength: 5 }), blocks => {
        assert.deepEqual(readPem(blocks.map(writePem).join('# comment\n')), blocks)
      }),
    )
  })
})
