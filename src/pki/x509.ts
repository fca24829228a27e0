import { X509Certificate, type KeyObject } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { isAuthority } from '#pki/extensions.ts'
import { MAX_CERTIFICATE_BYTES } from '#pki/certificate-names.ts'
import { certificateFacts, type CertificateFacts } from '#pki/certificate-facts.ts'
import { readPem, writePem } from '#pki/pem.ts'
import { refuse, refuseAs } from '#pki/pki-error.ts'
import { isLargeRsa, MAX_RSA_BITS } from '#pki/rsa-size.ts'
import { isPrivateKeyLabel, keyTypeOf, readPrivateKey, type KeyType } from '#pki/private-key.ts'

interface ServerCertificate extends CertificateFacts {
  readonly privateKeyType: KeyType
  /** The chain without the comments around it. */
  readonly certificatePem: string
}

interface AuthorityFacts extends Pick<
  CertificateFacts,
  'subjectCommonName' | 'notBefore' | 'notAfter' | 'keyUsages' | 'extendedKeyUsages'
> {
  readonly certificatePem: string
}

/** Each signature is verified; no chain of a public CA has more than four. */
export const MAX_CHAIN = 10
const UNREADABLE = 'A certificate cannot be read; it may be damaged or cut short.'

/** Parses a chain, leaf first, and the private key of the leaf. Expired chains are accepted. */
export function readCertificate(chainPem: string, keyPem: string): ServerCertificate {
  const chain = readCertificates(chainPem)
  const [leaf] = chain
  const key = readPrivateKey(keyPem)
  const privateKeyType = keyTypeOf(key)
  for (const certificate of chain) requireSmallKey(certificate)
  requireOrder(chain, key)
  const certificatePem = canonicalPem(chain)
  refuseAs(
    'bad_certificate',
    'The TLS library cannot serve this certificate; it may use an outdated algorithm.',
    () => createSecureContext({ cert: certificatePem, key: keyPem }),
  )
  return { ...facts(leaf), privateKeyType, certificatePem }
}

/** Parses a CA certificate for client certificates; an expired one is accepted. */
export function readAuthority(pem: string): AuthorityFacts {
  const [certificate, second] = readCertificates(pem)
  if (second)
    refuse('several_certificates', 'An authority is exactly one certificate; upload each one separately.')
  if (!isAuthority(certificate.raw))
    refuse('not_a_ca', 'The certificate is not an authority: its basic constraints lack CA:TRUE.')
  keyTypeOf(publicKey(certificate))
  const { subjectCommonName, notBefore, notAfter, keyUsages, extendedKeyUsages } = facts(certificate)
  const certificatePem = canonicalPem([certificate])
  return { subjectCommonName, notBefore, notAfter, keyUsages, extendedKeyUsages, certificatePem }
}

type Chain = readonly [X509Certificate, ...X509Certificate[]]

function readCertificates(pem: string): Chain {
  const blocks = readPem(pem)
  const ders = blocks.filter(block => block.label === 'CERTIFICATE').map(block => block.der)
  if (ders.length === 0 && blocks.some(block => isPrivateKeyLabel(block.label)))
    refuse('key_in_certificate', 'The certificate field holds a private key; are the two fields swapped?')
  const other = blocks.find(block => block.label !== 'CERTIFICATE')
  if (other) refuse('pem_type', `The certificate text holds a ${other.label} block; leave only certificates.`)
  if (ders.length > MAX_CHAIN)
    refuse('too_big', `The text holds more than ${MAX_CHAIN} certificates; leave only those of the chain.`)
  const [leaf, ...rest] = ders.map(decodeCertificate)
  return leaf ? [leaf, ...rest] : refuse('no_certificate', 'The text holds no certificate.')
}

function decodeCertificate(der: Buffer): X509Certificate {
  if (der.length > MAX_CERTIFICATE_BYTES)
    refuse('too_big', `A certificate is larger than ${MAX_CERTIFICATE_BYTES} bytes.`)
  const certificate = refuseAs('bad_certificate', UNREADABLE, () => new X509Certificate(der))
  // OpenSSL stops at the end of the certificate; further data would be stored unseen.
  if (certificate.raw.length !== der.length) refuse('bad_certificate', UNREADABLE)
  return certificate
}

const facts = (certificate: X509Certificate): CertificateFacts =>
  refuseAs('bad_certificate', UNREADABLE, () => certificateFacts(certificate))

const publicKey = (certificate: X509Certificate): KeyObject =>
  refuseAs('bad_certificate', 'The public key of a certificate cannot be read.', () => certificate.publicKey)

/** The signature of each certificate is verified with the key of the next. */
function requireSmallKey(certificate: X509Certificate): void {
  if (isLargeRsa(publicKey(certificate)))
    refuse('unsupported_key', `RSA keys of certificates may have at most ${MAX_RSA_BITS} bits.`)
}

const matches = (certificate: X509Certificate, key: KeyObject): boolean =>
  refuseAs('bad_certificate', UNREADABLE, () => certificate.checkPrivateKey(key))

function requireOrder(chain: Chain, key: KeyObject): void {
  const [leaf, ...issuers] = chain
  if (!matches(leaf, key) && !issuers.some(issuer => matches(issuer, key)))
    refuse('key_mismatch', 'The private key does not belong to the certificate.')
  const ordered = issuers.every((issuer, index) => issued(issuer, chain[index] ?? leaf))
  if (!ordered || !matches(leaf, key))
    refuse(
      'chain_order',
      'The certificate of the server must come first, and each be followed by its issuer.',
    )
}

/** `checkIssued` compares only names and key identifiers, so the signature is verified as well. */
const issued = (issuer: X509Certificate, subject: X509Certificate): boolean =>
  refuseAs(
    'bad_certificate',
    'A signature in the chain cannot be checked.',
    () => subject.checkIssued(issuer) && subject.verify(issuer.publicKey),
  )

const canonicalPem = (chain: readonly X509Certificate[]): string =>
  chain.map(certificate => writePem({ label: 'CERTIFICATE', der: certificate.raw })).join('')
