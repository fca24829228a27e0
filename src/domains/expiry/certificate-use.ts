import { renewalTime, type Lifetime } from '#acme/renewal.ts'
import { agentIngress } from '#contract/kinds/agent-ingress.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import type { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import type { Stored } from '#contract/shape.ts'
import type { Row } from '#store/store.ts'

export type StoredCertificate = Stored<typeof tlsCertificate.shape>
type Domain = Stored<typeof reservedDomain.shape> | Stored<typeof agentIngress.shape>

/** The domains of a certificate, and how it is replaced. */
export interface CertificateUse {
  /** The names served with it, or its own names when there are none. */
  readonly names: readonly string[]
  /**
   * What replaces it: the operator, or this server. `leftover`: it was issued and replaced, and is deleted
   * automatically.
   */
  readonly by: 'unused' | 'leftover' | 'operator' | 'server'
  /** When we renew it. */
  readonly renewsAt: number | undefined
}

const MAX_NAMED = 20
const kinds: readonly string[] = [reservedDomain.name, agentIngress.name]
const noJitter = (): number => 0

export const lifeOf = ({
  not_before: from,
  not_after: to,
}: Pick<StoredCertificate, 'not_before' | 'not_after'>) =>
  ({ notBefore: Date.parse(from), notAfter: Date.parse(to) }) satisfies Lifetime

/** Made of the certificate and the rows that refer to it. */
export function useOf(certificate: StoredCertificate, referrers: readonly Row[]): CertificateUse {
  const domains = referrers
    .filter(({ kind }) => kinds.includes(kind))
    .map(row => JSON.parse(row.body) as Domain)
  const [first] = domains
  if (first === undefined) {
    const {
      subject_alternative_names: inside,
      subject_common_name: subject,
      issued_at: issuedAt,
    } = certificate
    const names = [...inside.dns_names, ...inside.ips]
    return {
      names: (names.length > 0 ? names : [subject]).slice(0, MAX_NAMED),
      by: issuedAt === null ? 'unused' : 'leftover',
      renewsAt: undefined,
    }
  }
  const names = domains.flatMap(namesOf).slice(0, MAX_NAMED)
  if (!domains.every(domain => domain.certificate_management_policy))
    return { names, by: 'operator', renewsAt: undefined }
  const planned = first.certificate_management_status?.renews_at
  return {
    names,
    by: 'server',
    renewsAt: planned ? Date.parse(planned) : renewalTime(lifeOf(certificate), noJitter),
  }
}

const namesOf = (domain: Domain): readonly string[] =>
  'region_domains' in domain ? domain.region_domains : [domain.domain]
