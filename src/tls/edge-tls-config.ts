import { fail } from '#base/errors.ts'
import type { mutualTls } from '#contract/modules/mutual-tls.ts'
import type { tlsTermination } from '#contract/modules/tls-termination.ts'
import type { Stored } from '#contract/shape.ts'
import type { TlsConfig } from '#tls/contexts.ts'
import { PkiError } from '#pki/pki-error.ts'
import { readAuthority } from '#pki/x509.ts'

/** The TLS modules of an edge or an endpoint configuration. */
export interface TlsModules {
  readonly mutual_tls?: Stored<typeof mutualTls.shape> | null
  readonly tls_termination?: Stored<typeof tlsTermination.shape> | null
}

type AuthorityPem = (id: string) => string | undefined

/**
 * Whether a TLS edge terminates TLS; otherwise it is passed through, which is the default. Throws a Problem when client
 * certificates are required without termination.
 */
export function endsAtEdge({ mutual_tls, tls_termination }: TlsModules): boolean {
  const ends = tls_termination?.enabled === true && tls_termination.terminate_at === 'edge'
  if (!ends && mutual_tls?.enabled === true) fail('needs_termination', { field: 'mutual_tls' })
  return ends
}

/**
 * The requirements for TLS terminated at an edge. `scope` is what client certificates are valid for: the edge, or else
 * the `ModuleContext` of the modules. Throws a Problem for what cannot be met: then no handshake may succeed.
 */
export function edgeTlsConfig(
  { mutual_tls, tls_termination }: TlsModules,
  authorityPem: AuthorityPem,
  scope: string,
): TlsConfig {
  const termination = tls_termination?.enabled === true ? tls_termination : undefined
  if (termination !== undefined && termination.terminate_at !== 'edge')
    unusable('tls_termination', 'TLS can only be terminated at the edge here')
  const clients =
    mutual_tls?.enabled === true
      ? { authorities: authoritiesOf(mutual_tls.certificate_authorities, authorityPem), scope }
      : undefined
  return { ...(termination?.min_version === '1.3' && { minVersion: 'TLSv1.3' }), ...(clients && { clients }) }
}

function authoritiesOf(ids: readonly string[], authorityPem: AuthorityPem): string {
  if (ids.length === 0) unusable('mutual_tls', 'it names no CA')
  return ids.map(id => authorityOf(id, authorityPem(id))).join('')
}

/** Parsed again, so that the TLS library gets exactly the certificate that was checked at the upload. */
function authorityOf(id: string, pem: string | undefined): string {
  if (pem === undefined) return unusable('mutual_tls', `the CA ${id} does not exist`)
  try {
    return readAuthority(pem).certificatePem
  } catch (error) {
    if (!(error instanceof PkiError)) throw error
    return unusable('mutual_tls', `the CA ${id} cannot be read`)
  }
}

const unusable = (module: keyof TlsModules, reason: string): never =>
  fail('module_unusable', { module, reason })
