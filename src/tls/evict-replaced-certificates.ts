import { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import { textOf } from '#registry/records/keys.ts'
import type { Records } from '#registry/records/records.ts'
import type { SourceRow } from '#registry/records/source.ts'
import type { Certificates } from '#tls/certificates.ts'

/** Drops certificates that are no longer served, and no others: thousands may be in use. */
export function evictReplacedCertificates(
  records: Records,
  certificates: Pick<Certificates, 'forget'>,
): void {
  const forget = (row: SourceRow | undefined): void => {
    if (row !== undefined) certificates.forget(textOf(row, 'certificate_pem'))
  }
  records.onChange(['tls_certificate'], ({ before }) => forget(before))
  records.onChange(['reserved_domain', 'agent_ingress'], ({ before, after }) => {
    const id = before?.body['certificate']
    // Another domain may have the same certificate; then it is loaded again.
    if (typeof id === 'string' && id !== after?.body['certificate']) forget(records.get(tlsCertificate, id))
  })
}
