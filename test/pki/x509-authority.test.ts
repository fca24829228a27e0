import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { selfSignedCertificate } from '#pki/self-signed.ts'
import { readAuthority, readCertificate } from '#pki/x509.ts'
import { runOrThrow } from '../support/openssh.ts'
import {
  AUTHORITY,
  corruptedPem,
  issue,
  newCertificateChain,
  pkiError,
  type CertificateChain,
} from '../support/openssl.ts'

let family: CertificateChain

before(async () => {
  family = await newCertificateChain()
})

after(() => family.folder[Symbol.dispose]())

suite('an authority', () => {
  test('is read with its usages', () => {
    const { certificatePem, subjectCommonName, keyUsages, extendedKeyUsages } = readAuthority(
      family.root.certificate.trim(),
    )
    assert.equal(certificatePem, family.root.certificate)
    assert.equal(subjectCommonName, 'root')
    assert.deepEqual([keyUsages, extendedKeyUsages], [['cert_sign', 'crl_sign'], []])
  })

  test('is read when it has expired', async () => {
    const file = family.folder.file('expired.crt')
    await runOrThrow(
      'openssl',
      'x509',
      '-in',
      family.root.files.certificate,
      '-signkey',
      family.root.files.key,
      '-days',
      '-1',
      '-out',
      file,
    )
    assert.ok(Date.parse(readAuthority(await family.folder.read('expired.crt')).notAfter) < Date.now())
  })

  test('is read when no key usage is stated', async () => {
    const plain = await issue(family.folder, { name: 'plain', extensions: ['basicConstraints=CA:TRUE'] })
    assert.deepEqual(readAuthority(plain.certificate).keyUsages, [])
  })

  const cases: Record<string, [string, () => string]> = {
    'that is a leaf': ['not_a_ca', () => family.leaf.certificate],
    'that is a chain': ['several_certificates', () => family.middle.certificate + family.root.certificate],
    'that is a private key': ['key_in_certificate', () => family.root.key],
    'that is empty': ['empty', () => ''],
    'that is damaged': ['bad_certificate', () => corruptedPem(family.root.certificate)],
  }
  for (const [sentence, [code, given]] of Object.entries(cases))
    test(`is refused ${sentence}`, () => {
      assert.throws(() => readAuthority(given()), pkiError(code))
    })

  test('is refused with an RSA key of 1024 bits', async () => {
    const weak = await issue(family.folder, { name: 'weak root', key: 'RSA 1024', extensions: AUTHORITY })
    assert.throws(() => readAuthority(weak.certificate), pkiError('unsupported_key'))
  })
})

test('a self-signed certificate is good for its years and OpenSSL verifies it', async () => {
  const url = 'https://idp.example/saml/edghtsrt_2abc'
  const now = Date.parse('2026-02-03T04:05:06.789Z')
  const made = await selfSignedCertificate({ commonName: url, organization: url, years: 35, now })
  const facts = readCertificate(made.certificatePem, made.privateKeyPem.reveal())
  assert.deepEqual([facts.subjectCommonName, facts.subjectOrganization], [url, url])
  assert.deepEqual([facts.notBefore, facts.notAfter], ['2026-02-03T04:05:06Z', '2061-02-03T04:05:06Z'])
  assert.deepEqual([facts.privateKeyType, facts.keyUsages], ['rsa', ['digital_signature']])
  const file = await family.folder.write('self.pem', made.certificatePem)
  assert.match(await runOrThrow('openssl', 'verify', '-no_check_time', '-CAfile', file, file), /OK/)
  const text = await runOrThrow('openssl', 'x509', '-in', file, '-noout', '-text')
  assert.match(text, /Public-Key: \(2048 bit\)[^]*Signature Algorithm: sha256WithRSAEncryption/)
})
