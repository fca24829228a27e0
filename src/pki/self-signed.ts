// @peculiar/x509 resolves its parts through decorator metadata, so this import must come first.
import 'reflect-metadata'
import { randomBytes, webcrypto } from 'node:crypto'
import {
  BasicConstraintsExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { Secret } from '#base/secrets.ts'
import { writePem } from '#pki/pem.ts'

interface SelfSignedRequest {
  readonly commonName: string
  readonly organization: string
  readonly years: number
  readonly now?: number
}

interface SelfSigned {
  readonly certificatePem: string
  readonly privateKeyPem: Secret
}

const RSA = {
  name: 'RSASSA-PKCS1-v1_5',
  hash: 'SHA-256',
  modulusLength: 2048,
  publicExponent: Uint8Array.of(1, 0, 1),
}

/** A certificate for signing messages. Web crypto creates the key on a thread, so that it blocks nothing. */
export async function selfSignedCertificate(request: SelfSignedRequest): Promise<SelfSigned> {
  const { commonName, organization, years, now = Date.now() } = request
  const notBefore = new Date(now - (now % 1000))
  const notAfter = new Date(notBefore)
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + years)
  const keys = await webcrypto.subtle.generateKey(RSA, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ O: [organization] }, { CN: [commonName] }],
    notBefore,
    notAfter,
    signingAlgorithm: RSA,
    keys,
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  const privateKey = await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)
  return {
    certificatePem: writePem({ label: 'CERTIFICATE', der: Buffer.from(certificate.rawData) }),
    privateKeyPem: new Secret(writePem({ label: 'PRIVATE KEY', der: Buffer.from(privateKey) })),
  }
}

/** RFC 5280 §4.1.2.2: positive, at most 20 bytes, no leading zero. */
export function serialNumber(): string {
  const bytes = randomBytes(16)
  bytes[0] = 0x40 | (bytes.readUInt8(0) & 0x3f)
  return bytes.toString('hex')
}
