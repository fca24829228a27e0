// @peculiar/x509 resolves its parts through decorator metadata, so this import must come first.
import 'reflect-metadata'
import { AuthorityKeyIdentifierExtension, X509Certificate } from '@peculiar/x509'
import { readPem } from '#pki/pem.ts'

/** The ACME renewal information id of a certificate (RFC 9773 §4.1); undefined if it has none. */
export function renewalId(chainPem: string): string | undefined {
  const [leaf] = readPem(chainPem)
  if (leaf === undefined) return undefined
  const certificate = new X509Certificate(Uint8Array.from(leaf.der))
  const issuer = certificate.getExtension(AuthorityKeyIdentifierExtension)?.keyId
  if (issuer === undefined) return undefined
  const serial = Buffer.from(certificate.serialNumber, 'hex')
  // The integer in DER form: a leading zero byte keeps it positive.
  const zero = Buffer.alloc((serial[0] ?? 0) >= 0x80 ? 1 : 0)
  return `${Buffer.from(issuer, 'hex').toString('base64url')}.${Buffer.concat([zero, serial]).toString('base64url')}`
}
