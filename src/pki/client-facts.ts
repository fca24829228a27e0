// @peculiar/x509 resolves its parts through decorator metadata, so this import must come first.
import 'reflect-metadata'
import { SubjectAlternativeNameExtension, X509Certificate } from '@peculiar/x509'

/** What others are told of a visitor's certificate. */
export interface ClientFacts {
  /** The most specific one, the last, where a subject has several. */
  readonly commonName: string
  readonly dnsNames: readonly string[]
  readonly emails: readonly string[]
  /** Lower-case hex of whole bytes. */
  readonly serialNumber: string
}

/** Reads a certificate that was verified before; throws when it cannot be read. */
export function clientFacts(der: Buffer): ClientFacts {
  const certificate = new X509Certificate(Uint8Array.from(der))
  const names = certificate.getExtension(SubjectAlternativeNameExtension)?.names.items ?? []
  const named = (type: string) => names.filter(name => name.type === type).map(({ value }) => value)
  return {
    commonName: certificate.subjectName.getField('CN').at(-1) ?? '',
    dnsNames: named('dns'),
    emails: named('email'),
    serialNumber: certificate.serialNumber.toLowerCase(),
  }
}
