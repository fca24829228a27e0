import { textOf } from '#registry/records/keys.ts'
import type { Records } from '#registry/records/records.ts'
import type { SourceRow } from '#registry/records/source.ts'
import type { TlsTerms } from '#tls/contexts.ts'
import { edgeTerms, type TlsModules } from '#tls/edge-terms.ts'

/** The TLS options of an edge or an endpoint configuration. */
export const tlsModulesOf = ({ body }: SourceRow): TlsModules => body

/** Its requirements for TLS that is terminated at `scope`; throws a Problem when they cannot be met. */
export function termsOf(
  row: SourceRow,
  records: Records,
  uses: (id: string) => void,
  scope = row.id,
): TlsTerms {
  const authorityPem = (id: string): string | undefined => {
    uses(id)
    const authority = records.get('certificate_authority', id)
    return authority && textOf(authority, 'ca_pem')
  }
  return edgeTerms(tlsModulesOf(row), authorityPem, scope)
}
