import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { readCertificate } from '#pki/x509.ts'
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

suite('a TLS certificate is refused', () => {
  const encrypted = (...form: string[]) =>
    runOrThrow('openssl', 'rsa', '-in', family.root.files.key, '-aes128', '-passout', 'pass:secret', ...form)

  const cases: Record<string, [string, () => Promise<[string, string]> | [string, string]]> = {
    'when the chain is upside down': [
      'chain_order',
      () => [family.root.certificate + family.leaf.certificate, family.leaf.key],
    ],
    'when a link is missing': [
      'chain_order',
      () => [family.leaf.certificate + family.root.certificate, family.leaf.key],
    ],
    'when another certificate follows': [
      'chain_order',
      () => [family.leaf.certificate + family.other.certificate, family.leaf.key],
    ],
    'when the names fit but the signature does not': [
      'chain_order',
      async () => {
        const impostor = await issue(family.folder, {
          name: 'impostor',
          subject: '/CN=middle',
          extensions: AUTHORITY,
        })
        const unmarked = await issue(family.folder, {
          name: 'unmarked',
          issuer: family.middle,
          // Key identifiers would give the impostor away before its signature does.
          extensions: ['authorityKeyIdentifier=none', 'subjectKeyIdentifier=none'],
        })
        return [unmarked.certificate + impostor.certificate, unmarked.key]
      },
    ],
    'with the key of another certificate': [
      'key_mismatch',
      () => [family.leaf.certificate, family.other.key],
    ],
    'with a key of another type': ['key_mismatch', () => [family.leaf.certificate, family.root.key]],
    'with key and certificate swapped': [
      'key_in_certificate',
      () => [family.leaf.key, family.leaf.certificate],
    ],
    'with a certificate in the place of the key': [
      'certificate_in_key',
      () => [family.leaf.certificate, family.leaf.certificate],
    ],
    'with the key beside the certificate': [
      'pem_type',
      () => [family.leaf.certificate + family.leaf.key, family.leaf.key],
    ],
    'with a certificate beside the key': [
      'pem_type',
      () => [family.leaf.certificate, family.leaf.key + family.leaf.certificate],
    ],
    'with two keys': ['bad_key', () => [family.leaf.certificate, family.leaf.key + family.other.key]],
    'without a key': ['no_key', () => [family.leaf.certificate, ' \n']],
    'without a certificate': ['empty', () => ['\n', family.leaf.key]],
    'with a key encrypted in PKCS #8': [
      'encrypted_key',
      async () => [family.root.certificate, await encrypted()],
    ],
    'with a key encrypted in PKCS #1': [
      'encrypted_key',
      async () => [family.root.certificate, await encrypted('-traditional')],
    ],
    'with a damaged key': ['bad_key', () => [family.leaf.certificate, corruptedPem(family.leaf.key)]],
    'with a damaged certificate': [
      'bad_certificate',
      () => [corruptedPem(family.leaf.certificate), family.leaf.key],
    ],
    'that is not PEM': ['not_pem', () => ['leaf.crt', family.leaf.key]],
    'that is cut short': ['not_pem', () => [family.leaf.certificate.slice(0, 300), family.leaf.key]],
    'that is longer than 64 KiB': [
      'too_big',
      () => [`${'#'.repeat(65_536)}\n${family.leaf.certificate}`, family.leaf.key],
    ],
    'with more than ten certificates': [
      'too_big',
      () => [family.leaf.certificate.repeat(11), family.leaf.key],
    ],
    'with PEM headers': [
      'pem_headers',
      () => [
        family.leaf.certificate.replace('CERTIFICATE-----\n', 'CERTIFICATE-----\nComment: mine\n\n'),
        family.leaf.key,
      ],
    ],
    'that is a request': [
      'pem_type',
      async () => [
        await runOrThrow('openssl', 'req', '-new', '-key', family.leaf.files.key, '-subj', '/CN=x'),
        family.leaf.key,
      ],
    ],
    'with a public key for a key': [
      'pem_type',
      async () => [
        family.leaf.certificate,
        await runOrThrow('openssl', 'pkey', '-in', family.leaf.files.key, '-pubout'),
      ],
    ],
  }
  for (const [sentence, [code, given]] of Object.entries(cases))
    test(sentence, async () => {
      const [certificate, key] = await given()
      assert.throws(() => readCertificate(certificate, key), pkiError(code))
    })

  for (const key of ['RSA 1024', 'RSA-PSS', 'secp256k1'] as const)
    test(`with a key of type ${key}`, async () => {
      const own = await issue(family.folder, { name: `odd ${key}`, key })
      assert.throws(() => readCertificate(own.certificate, own.key), pkiError('unsupported_key'))
    })

  test('without quoting the private key', () => {
    const secret = family.leaf.key.split('\n')[1] ?? ''
    for (const key of [corruptedPem(family.leaf.key), family.leaf.key.slice(0, 120), `x${family.leaf.key}`])
      assert.throws(
        () => readCertificate(family.leaf.certificate, key),
        (error: Error) => !error.message.includes(secret.slice(0, 16)),
      )
  })
})
