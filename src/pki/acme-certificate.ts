// @peculiar/x509 resolves its parts through decorator metadata, so this import must come first.
import 'reflect-metadata'
import { hash, webcrypto } from 'node:crypto'
import { Extension, SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509'
import { Secret } from '#base/secrets.ts'
import type { TlsIdentity } from '#pki/local-authority.ts'
import { writePem } from '#pki/pem.ts'
import { serialNumber } from '#pki/self-signed.ts'

const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31'
/** An OCTET STRING of 32 bytes follows. */
const OCTETS = Buffer.from([0x04, 0x20])
const DAY = 86_400_000
const P256 = { name: 'ECDSA', namedCurve: 'P-256' }

/** The certificate of RFC 8737 §3: it proves control of the name to a CA. */
export async function acmeCertificate(
  name: string,
  keyAuthorization: string,
  now = Date.now(),
): Promise<TlsIdentity> {
  const keys = await webcrypto.subtle.generateKey(P256, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: ['ACME challenge'] }],
    notBefore: new Date(now - DAY),
    notAfter: new Date(now + DAY),
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    keys,
    extensions: [
      new SubjectAlternativeNameExtension([{ type: 'dns', value: name }]),
      new Extension(
        ACME_IDENTIFIER,
        true,
        Buffer.concat([OCTETS, hash('sha256', keyAuthorization, 'buffer')]),
      ),
    ],
  })
  const key = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey))
  return {
    certificatePem: writePem({ label: 'CERTIFICATE', der: Buffer.from(certificate.rawData) }),
    privateKeyPem: new Secret(writePem({ label: 'PRIVATE KEY', der: key })),
  }
}
