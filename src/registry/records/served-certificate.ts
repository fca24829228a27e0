import { Secret } from '#base/secrets.ts'
import type { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import type { TlsIdentity } from '#pki/local-authority.ts'
import { textOf } from '#registry/records/keys.ts'
import type { RowOf } from '#registry/records/source.ts'

export interface ServedCertificate extends TlsIdentity {
  readonly id: string
}

/** Undefined if its key cannot be decrypted. */
export function servedCertificate(row: RowOf<typeof tlsCertificate>): ServedCertificate | undefined {
  if (!row.readable) return undefined
  return {
    id: row.id,
    certificatePem: textOf(row, 'certificate_pem'),
    privateKeyPem: new Secret(textOf(row, 'private_key_pem')),
  }
}
