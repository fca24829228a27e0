import type { IssuedCertificate, ManagedDomain } from '#acme/domains.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import type { Kept } from '#contract/shape.ts'
import type { Follower, SourceChange, SourceRow } from '#gateway/records/source.ts'

type Domain = Kept<typeof reservedDomain.shape>
type Certificate = Kept<typeof tlsCertificate.shape>

/** The kinds of rows it reads. */
export const bookKinds = [reservedDomain.name, tlsCertificate.name]

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
      change.op === 'put' ? change.row.kind === reservedDomain.name : this.#domains.has(change.id)
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
      names: [body.domain],
      keyType: policy.private_key_type,
      cnameTarget: body.cname_target ?? undefined,
      challengeTarget: body.acme_challenge_cname_target ?? undefined,
      certificate: body.certificate ? this.#certificates.get(body.certificate) : undefined,
      renewsAt: renewsAt ? Date.parse(renewsAt) : undefined,
    }
  }
}

function certificateOf({ id, body }: SourceRow): IssuedCertificate {
  const { not_before: from, not_after: to, private_key_type: keyType } = body as Certificate
  return { id, notBefore: Date.parse(from), notAfter: Date.parse(to), keyType }
}
