import type { X509Certificate } from 'node:crypto'

/** The parts of a subject or issuer, by their short names; a repeated one has several values. */
type NameParts = Readonly<Record<string, string | readonly string[] | undefined>>

interface AlternativeNames {
  readonly dns: readonly string[]
  readonly ips: readonly string[]
  readonly emails: readonly string[]
}

interface CertificateNames {
  readonly subject: NameParts
  readonly issuer: NameParts
  readonly alternative: AlternativeNames
}

/** Names as Node writes them: "DNS:a.example, IP Address:192.0.2.1"; those with special characters are JSON strings. */
const NAME = /(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g

/** Room for 500 names of usual length. Parsing 2000 names would take 12 ms. */
export const MAX_CERTIFICATE_BYTES = 16_384

/** OpenSSL parses the names: a JavaScript library takes 20 ms for a certificate with 500 of them. */
export function certificateNames(certificate: X509Certificate): CertificateNames {
  if (certificate.raw.length > MAX_CERTIFICATE_BYTES) throw new RangeError('The certificate is too large.')
  const { subject, issuer, subjectaltname = '' } = certificate.toLegacyObject()
  const found = [...subjectaltname.matchAll(NAME)].map(([, type = '', value = '']) => ({
    type,
    value: value.startsWith('"') ? String(JSON.parse(value)) : value,
  }))
  const named = (type: string): string[] => found.filter(name => name.type === type).map(({ value }) => value)
  return {
    subject: { ...subject },
    issuer: { ...issuer },
    alternative: { dns: named('DNS'), ips: named('IP Address'), emails: named('email') },
  }
}

/** All values of a part. */
export const valuesOf = (parts: NameParts, name: string): readonly string[] => {
  const value = parts[name]
  return value === undefined ? [] : typeof value === 'string' ? [value] : value
}
