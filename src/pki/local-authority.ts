// @peculiar/x509 resolves its parts through decorator metadata, so this import must come first.
import 'reflect-metadata'
import { webcrypto } from 'node:crypto'
import { isIP } from 'node:net'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'
import { Secret } from '#base/secrets.ts'
import { readPem, writePem } from '#pki/pem.ts'
import { serialNumber } from '#pki/self-signed.ts'

/** A certificate, leaf first, and its private key. */
export interface TlsIdentity {
  readonly certificatePem: string
  readonly privateKeyPem: Secret
}

export interface Leaf extends TlsIdentity {
  /** Milliseconds since 1970, as are all times here. */
  readonly notBefore: number
  readonly notAfter: number
}

interface LeafOptions {
  readonly days?: number
  /** It also proves the identity of a client. */
  readonly isClient?: boolean
}

const HOUR = 3_600_000
const DAY = 24 * HOUR
const ROOT_YEARS = 10
/** Browsers reject longer lifetimes. */
const LEAF_DAYS = 397
const P256 = { name: 'ECDSA', namedCurve: 'P-256' }
const SIGNING = { name: 'ECDSA', hash: 'SHA-256' }

const wholeSeconds = (time: number): number => time - (time % 1000)
const certificatePem = (certificate: X509Certificate): string =>
  writePem({ label: 'CERTIFICATE', der: Buffer.from(certificate.rawData) })

async function privateKeyPem(key: webcrypto.CryptoKey): Promise<Secret> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key))
  return new Secret(writePem({ label: 'PRIVATE KEY', der }))
}

/** Creates a root. It can sign server certificates, but no further CAs. */
export async function makeLocalRoot(name: string, now = Date.now()): Promise<TlsIdentity> {
  // Client clocks may be a little behind.
  const notBefore = new Date(wholeSeconds(now - DAY))
  const notAfter = new Date(notBefore)
  notAfter.setUTCFullYear(notAfter.getUTCFullYear() + ROOT_YEARS)
  const keys = await webcrypto.subtle.generateKey(P256, true, ['sign', 'verify'])
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ O: ['Adit'] }, { CN: [name] }],
    notBefore,
    notAfter,
    signingAlgorithm: SIGNING,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  })
  return {
    certificatePem: certificatePem(certificate),
    privateKeyPem: await privateKeyPem(keys.privateKey),
  }
}

/** The local CA of this installation: trusting its root means trusting all that the gateway serves. */
export class LocalAuthority {
  readonly rootPem: string
  readonly #root: X509Certificate
  readonly #key: webcrypto.CryptoKey
  readonly #now: () => number

  private constructor(root: TlsIdentity, key: webcrypto.CryptoKey, now: () => number) {
    this.rootPem = root.certificatePem
    this.#root = new X509Certificate(root.certificatePem)
    this.#key = key
    this.#now = now
  }

  static async open(root: TlsIdentity, now: () => number = Date.now): Promise<LocalAuthority> {
    const [block] = readPem(root.privateKeyPem.reveal())
    if (block === undefined) throw new Error('the local authority has no private key')
    const der = new Uint8Array(block.der)
    const key = await webcrypto.subtle.importKey('pkcs8', der, P256, false, ['sign'])
    return new LocalAuthority(root, key, now)
  }

  /** Signs a server certificate for names and addresses. The root is not part of the chain. */
  async issue(
    names: readonly string[],
    { days = LEAF_DAYS, isClient = false }: LeafOptions = {},
  ): Promise<Leaf> {
    const keys = await webcrypto.subtle.generateKey(P256, true, ['sign', 'verify'])
    const now = wholeSeconds(this.#now())
    // The clocks of clients and of other nodes may be behind.
    const notBefore = Math.max(now - DAY, this.#root.notBefore.getTime())
    // A validity includes its last second.
    const notAfter = Math.min(notBefore + days * DAY - 1000, this.#root.notAfter.getTime())
    const certificate = await X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      // A common name has room for 64 characters; clients use the alternative names anyway.
      subject: [{ O: ['Adit'] }, ...names.slice(0, 1).flatMap(name => commonName(name))],
      issuer: this.#root.subjectName.toJSON(),
      notBefore: new Date(notBefore),
      notAfter: new Date(notAfter),
      signingAlgorithm: SIGNING,
      publicKey: keys.publicKey,
      signingKey: this.#key,
      extensions: [
        new BasicConstraintsExtension(false, undefined, true),
        new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
        new ExtendedKeyUsageExtension([
          ExtendedKeyUsage.serverAuth,
          ...(isClient ? [ExtendedKeyUsage.clientAuth] : []),
        ]),
        new SubjectAlternativeNameExtension(names.map(alternativeName)),
        await SubjectKeyIdentifierExtension.create(keys.publicKey),
        await AuthorityKeyIdentifierExtension.create(this.#root.publicKey),
      ],
    })
    return {
      certificatePem: certificatePem(certificate),
      privateKeyPem: await privateKeyPem(keys.privateKey),
      notBefore,
      notAfter,
    }
  }
}

const commonName = (name: string): { CN: string[] }[] => (name.length <= 64 ? [{ CN: [name] }] : [])

const alternativeName = (name: string): { type: 'ip' | 'dns'; value: string } => ({
  type: isIP(name) === 0 ? 'dns' : 'ip',
  value: name,
})

/** A third of its lifetime is left, or less: it is due for renewal. */
export const isDue = ({ notBefore, notAfter }: Leaf, now: number): boolean =>
  notAfter - now <= (notAfter - notBefore) / 3
