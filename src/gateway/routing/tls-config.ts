import { certificateAuthority } from '#contract/kinds/certificate-authority.ts'
import { textOf } from '#registry/records/keys.ts'
import type { Records } from '#registry/records/records.ts'
import type { SourceRow } from '#registry/records/source.ts'
import type { TlsConfig } from '#tls/contexts.ts'
import { edgeTlsConfig, type TlsModules } from '#tls/edge-tls-config.ts'

/** The TLS options of an edge or an endpoint configuration. */
export const tlsModulesOf = ({ body }: SourceRow): TlsModules => body

/** Its requirements for TLS that is terminated at `scope`; throws a Problem when they cannot be met. */
export function tlsConfigOf(
  row: SourceRow,
  records: Records,
  dependsOn: (id: string) => void,
  scope = row.id,
): TlsConfig {
  const authorityPem = (id: string): string | undefined => {
    dependsOn(id)
    const authority = records.get(certificateAuthority, id)
    return authority && textOf(authority, 'ca_pem')
  }
  return edgeTlsConfig(tlsModulesOf(row), authorityPem, scope)
}
