import assert from 'node:assert/strict'
import { createSecureContext } from 'node:tls'
import { after, before, suite, test } from 'node:test'
import { readCertificate } from '#pki/x509.ts'
import { runOrThrow } from '../support/openssh.ts'
import { issue, newCertificateChain, show, type CertificateChain, type KeyName } from '../support/openssl.ts'

const KEY_TYPES = {
  'RSA 2048': 'rsa',
  'RSA 3072': 'rsa',
  'P-256': 'ecdsa',
  'P-384': 'ecdsa',
  'P-521': 'ecdsa',
  Ed25519: 'ed25519',
} as const satisfies Partial<Record<KeyName, string>>

/** OpenSSL's name for a usage, how it is asked for, and ours. */
const KEY_USAGES = [
  ['Digital Signature', 'digitalSignature', 'digital_signature'],
  ['Non Repudiation', 'nonRepudiation', 'content_commitment'],
  ['Key Encipherment', 'keyEncipherment', 'key_encipherment'],
  ['Data Encipherment', 'dataEncipherment', 'data_encipherment'],
  ['Key Agreement', 'keyAgreement', 'key_agreement'],
  ['Certificate Sign', 'keyCertSign', 'cert_sign'],
  ['CRL Sign', 'cRLSign', 'crl_sign'],
  ['Encipher Only', 'encipherOnly', 'encipher_only'],
  ['Decipher Only', 'decipherOnly', 'decipher_only'],
] as const

let family: CertificateChain

before(async () => {
  family = await newCertificateChain()
})

after(() => family.folder[Symbol.dispose]())

suite('a TLS certificate', () => {
  for (const [key, privateKeyType] of Object.entries(KEY_TYPES) as [KeyName, string][])
    test(`with a key of type ${key} is read with its chain`, async () => {
      const own = await issue(family.folder, { name: `own ${key}`, key, issuer: family.middle })
      const chain = own.certificate + family.middle.certificate + family.root.certificate
      const read = readCertificate(chain, own.key)
      assert.equal(read.privateKeyType, privateKeyType)
      assert.equal(read.issuerCommonName, 'middle')
      assert.equal(read.certificatePem, chain)
      assert.doesNotThrow(() => createSecureContext({ cert: read.certificatePem, key: own.key }))
    })

  test('shows the same facts as OpenSSL', async () => {
    const own = await issue(family.folder, {
      name: 'facts',
      subject: '/C=NZ/ST=Otago/L=Dunedin/O=Müller, Söhne/OU=Night/OU=Day+CN=first/CN=shop.example',
      issuer: family.middle,
      extensions: [
        'subjectAltName=DNS:*.shop.example,DNS:shop.example,IP:192.0.2.7,IP:2001:DB8:0:0:1::7,IP:::ffff:192.0.2.8,email:a@b.example',
        'extendedKeyUsage=serverAuth,clientAuth,codeSigning,timeStamping,OCSPSigning,1.2.3.4',
      ],
    })
    const { privateKeyType: _, certificatePem: __, ...facts } = readCertificate(own.certificate, own.key)
    const [serial = '', start = '', end = ''] = await show(own, '-serial', '-dates', '-dateopt', 'iso_8601')
    const moment = (line: string) => line.replace(/^.*=/, '').replace(' ', 'T')
    assert.deepEqual(facts, {
      subjectCommonName: 'shop.example',
      subjectOrganization: 'Müller, Söhne',
      subjectOrganizationalUnit: 'Night, Day',
      subjectLocality: 'Dunedin',
      subjectProvince: 'Otago',
      subjectCountry: 'NZ',
      issuerCommonName: 'middle',
      serialNumber: serial.replace('serial=', '').toLowerCase(),
      notBefore: moment(start),
      notAfter: moment(end),
      dnsNames: ['*.shop.example', 'shop.example'],
      ips: ['192.0.2.7', '2001:db8::1:0:0:7', '::ffff:c000:208'],
      keyUsages: [],
      extendedKeyUsages: [
        'server_auth',
        'client_auth',
        'code_signing',
        'time_stamping',
        'ocsp_signing',
        '1.2.3.4',
      ],
    })
  })

  test('without a subject shows empty texts and lists', async () => {
    const own = await issue(family.folder, { name: 'bare', subject: '/' })
    const facts = readCertificate(own.certificate, own.key)
    assert.deepEqual([facts.subjectCommonName, facts.issuerCommonName, facts.subjectCountry], ['', '', ''])
    assert.deepEqual([facts.dnsNames, facts.ips, facts.keyUsages, facts.extendedKeyUsages], [[], [], [], []])
  })

  test('keeps the leading zero of its serial number and drops the sign byte', async () => {
    for (const serial of ['054ba70dd0', 'ff00000001', '01']) {
      const file = family.folder.file('serial.crt')
      const set = ['-set_serial', `0x${serial}`, '-subj', '/CN=serial', '-out', file]
      await runOrThrow('openssl', 'req', '-x509', '-new', '-key', family.leaf.files.key, ...set)
      assert.equal(
        readCertificate(await family.folder.read('serial.crt'), family.leaf.key).serialNumber,
        serial,
      )
    }
  })

  for (const [printed, wish, name] of KEY_USAGES)
    test(`shows the key usage ${printed}`, async () => {
      const extensions = ['basicConstraints=CA:FALSE', `keyUsage=critical,${wish}`]
      const own = await issue(family.folder, { name: `usage ${wish}`, extensions })
      assert.ok((await show(own, '-ext', 'keyUsage')).includes(printed))
      assert.deepEqual(readCertificate(own.certificate, own.key).keyUsages, [name])
    })

  test('shows all key usages in the order of their bits', async () => {
    const wishes = KEY_USAGES.map(([, wish]) => wish).toReversed()
    const own = await issue(family.folder, {
      name: 'all usages',
      extensions: [`keyUsage=${wishes.join(',')}`],
    })
    const names = KEY_USAGES.map(([, , name]) => name)
    assert.deepEqual(readCertificate(own.certificate, own.key).keyUsages, names)
  })

  test('is read with a private key in each of the unencrypted forms', async () => {
    const rsa = await issue(family.folder, { name: 'old rsa', key: 'RSA 2048' })
    const pkcs1 = await runOrThrow('openssl', 'rsa', '-in', rsa.files.key, '-traditional')
    const sec1 = await runOrThrow('openssl', 'ec', '-in', family.leaf.files.key)
    const parameters = await runOrThrow('openssl', 'ecparam', '-name', 'prime256v1')
    assert.match(pkcs1, /BEGIN RSA PRIVATE KEY/)
    assert.match(sec1, /BEGIN EC PRIVATE KEY/)
    assert.equal(readCertificate(rsa.certificate, pkcs1).privateKeyType, 'rsa')
    assert.equal(readCertificate(family.leaf.certificate, sec1).privateKeyType, 'ecdsa')
    assert.equal(readCertificate(family.leaf.certificate, parameters + sec1).privateKeyType, 'ecdsa')
  })

  test('is read with comments around its blocks, which are not kept', async () => {
    const text = (await show(family.leaf, '-text')).join('\n')
    const read = readCertificate(
      `${text}\n${family.leaf.certificate}\nsubject=/CN=middle: x\n${family.middle.certificate}`,
      family.leaf.key,
    )
    assert.equal(read.certificatePem, family.leaf.certificate + family.middle.certificate)
    assert.equal(
      readCertificate(family.leaf.certificate.replaceAll('\n', '\r\n'), family.leaf.key).certificatePem,
      family.leaf.certificate,
    )
  })
})
