import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  type JsonGeneralNames,
  type JsonNameParams,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { writePem } from '#pki/pem.ts'
import { registerKey } from '../support/secrets.ts'

/** A certificate, its key, and the chain that its owner sends. */
export interface TestCertificate {
  readonly pem: string
  readonly keyPem: string
  readonly chain: string
  readonly key: webcrypto.CryptoKey
}

export interface CertificateOptions {
  readonly name?: JsonNameParams | string
  readonly issuer?: TestCertificate
  /** Makes it a CA; a number is its path length constraint. */
  readonly authority?: boolean | number
  readonly from?: number
  readonly to?: number
  readonly usages?: readonly ExtendedKeyUsage[]
  readonly keyUsages?: KeyUsageFlags
  readonly names?: JsonGeneralNames
  readonly serial?: string
  readonly more?: readonly Extension[]
}

const DAY = 86_400_000
const P256 = { name: 'ECDSA', namedCurve: 'P-256' }
let made = 0

/** Issues a certificate as requested, including ones that no real CA would sign. */
export async function issueCertificate(options: CertificateOptions = {}): Promise<TestCertificate> {
  const { issuer, authority = false, from = Date.now() - DAY, to = Date.now() + DAY } = options
  const {
    name = `person ${++made}`,
    names,
    usages = authority === false ? [ExtendedKeyUsage.clientAuth] : [],
  } = options
  const { keyUsages = authority === false ? KeyUsageFlags.digitalSignature : KeyUsageFlags.keyCertSign } =
    options
  const keys = await webcrypto.subtle.generateKey(P256, true, ['sign', 'verify'])
  const subject = new Name(typeof name === 'string' ? [{ CN: [name] }] : name)
  const length = typeof authority === 'number' ? authority : undefined
  const certificate = await X509CertificateGenerator.create({
    serialNumber: options.serial ?? (0x1000 + ++made).toString(16),
    subject,
    issuer: issuer === undefined ? subject : new X509Certificate(issuer.pem).subjectName,
    notBefore: new Date(from),
    notAfter: new Date(to),
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    publicKey: keys.publicKey,
    signingKey: issuer?.key ?? keys.privateKey,
    extensions: [
      new BasicConstraintsExtension(authority !== false, length, true),
      new KeyUsagesExtension(keyUsages, true),
      ...(usages.length > 0 ? [new ExtendedKeyUsageExtension([...usages])] : []),
      ...(names ? [new SubjectAlternativeNameExtension(names)] : []),
      ...(options.more ?? []),
    ],
  })
  const pem = writePem({ label: 'CERTIFICATE', der: Buffer.from(certificate.rawData) })
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey))
  return {
    pem,
    chain: pem + (issuer?.chain ?? ''),
    keyPem: registerKey(writePem({ label: 'PRIVATE KEY', der })),
    key: keys.privateKey,
  }
}

export const authority = (options: CertificateOptions = {}): Promise<TestCertificate> =>
  issueCertificate({ authority: true, ...options })
