import type { X509Certificate } from 'node:crypto'
import { certificateNames, valuesOf } from '#pki/certificate-names.ts'

/** The shared facts of a client certificate. */
interface ClientFacts {
  /** The most specific one, the last, where a subject has several. */
  readonly commonName: string
  readonly dnsNames: readonly string[]
  readonly emails: readonly string[]
  /** Lower-case hex of whole bytes. */
  readonly serialNumber: string
}

/** Parses a verified certificate; throws when it cannot be parsed. */
export function clientFacts(certificate: X509Certificate): ClientFacts {
  const { subject, alternative } = certificateNames(certificate)
  return {
    commonName: valuesOf(subject, 'CN').at(-1) ?? '',
    dnsNames: alternative.dns,
    emails: alternative.emails,
    serialNumber: certificate.serialNumber.toLowerCase(),
  }
}
