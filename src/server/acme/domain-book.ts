import type { IssuedCertificate, ManagedDomain } from '#acme/domains.ts'
import { challengeName } from '#acme/proof.ts'
import { agentIngress } from '#contract/kinds/agent-ingress.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import type { Kept } from '#contract/shape.ts'
import type { Follower, SourceChange, SourceRow } from '#gateway/records/source.ts'

/** What both kinds of names have that certificates are issued for. */
type Domain = Kept<typeof reservedDomain.shape> | Kept<typeof agentIngress.shape>
type Certificate = Kept<typeof tlsCertificate.shape>

/** The kinds of rows it reads. */
export const bookKinds = [reservedDomain.name, agentIngress.name, tlsCertificate.name]

export interface BookListener {
  /** Undefined: managed no more, or never. */
  domain(id: string, domain: ManagedDomain | undefined): void
  /** A domain that was served with this certificate no longer is. */
  released(certificateId: string): void
}

interface Entry {
  readonly body: Domain
  readonly certificate: string | null
}

/** Which domains have their certificates managed, kept in memory. Of certificates only their dates are. */
export class DomainBook implements Follower {
  readonly #listener: BookListener
  readonly #domains = new Map<string, Entry>()
  readonly #certificates = new Map<string, IssuedCertificate>()

  constructor(listener: BookListener) {
    this.#listener = listener
  }

  snapshot(rows: readonly SourceRow[]): void {
    const present = new Set(rows.map(({ id }) => id))
    const gone = [...this.#domains.keys(), ...this.#certificates.keys()].filter(id => !present.has(id))
    this.changes([
      ...rows.map(row => ({ op: 'put', row }) as const),
      ...gone.map(id => ({ op: 'remove', kind: '', id }) as const),
    ])
  }

  changes(batch: readonly SourceChange[]): void {
    const isDomain = (change: SourceChange): boolean =>
      change.op === 'put' ? change.row.kind !== tlsCertificate.name : this.#domains.has(change.id)
    // A domain is judged by its certificate, which may stand behind it in the batch.
    for (const change of batch) if (!isDomain(change)) this.#certificate(change)
    for (const change of batch) if (isDomain(change)) this.#domain(change)
  }

  #certificate(change: SourceChange): void {
    if (change.op === 'remove') this.#certificates.delete(change.id)
    else this.#certificates.set(change.row.id, certificateOf(change.row))
  }

  #domain(change: SourceChange): void {
    const id = change.op === 'put' ? change.row.id : change.id
    const before = this.#domains.get(id)
    const body = change.op === 'put' ? (change.row.body as Domain) : undefined
    if (body === undefined) this.#domains.delete(id)
    else this.#domains.set(id, { body, certificate: body.certificate })
    this.#listener.domain(id, body && this.#managed(id, body))
    if (before?.certificate && before.certificate !== body?.certificate)
      this.#listener.released(before.certificate)
  }

  #managed(id: string, body: Domain): ManagedDomain | undefined {
    const policy = body.certificate_management_policy
    if (!policy) return undefined
    const renewsAt = body.certificate_management_status?.renews_at
    return {
      id,
      keyType: policy.private_key_type,
      ...namesOf(body),
      certificate: body.certificate ? this.#certificates.get(body.certificate) : undefined,
      renewsAt: renewsAt ? Date.parse(renewsAt) : undefined,
    }
  }
}

/** Which names stand in the certificate, and how they are proven. */
function namesOf(body: Domain): Pick<ManagedDomain, 'names' | 'cnameTarget' | 'challengeTarget'> {
  // Its zone is ours, so its names lead here.
  if ('region_domains' in body)
    return { names: body.region_domains, cnameTarget: undefined, challengeTarget: undefined }
  const { domain, cname_target: cname, acme_challenge_cname_target: challenge } = body
  const isOwn = challenge === challengeName(domain) && !domain.startsWith('*.')
  return {
    names: isOwn ? [domain, `*.${domain}`] : [domain],
    cnameTarget: cname ?? undefined,
    challengeTarget: challenge ?? undefined,
  }
}

function certificateOf({ id, body }: SourceRow): IssuedCertificate {
  const { not_before: from, not_after: to, private_key_type: keyType } = body as Certificate
  return { id, notBefore: Date.parse(from), notAfter: Date.parse(to), keyType }
}
