import type { IssuedCertificate, ManagedDomain } from '#acme/domains.ts'
import { agentIngress } from '#contract/kinds/agent-ingress.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import type { Stored } from '#contract/shape.ts'
import type { Follower, SourceChange, SourceRow } from '#registry/records/source.ts'
import { provingOf, type Domain, type DomainEnvironment } from '#domains/acme/proving.ts'

type Certificate = Stored<typeof tlsCertificate.shape>

/** The kinds of rows it reads. */
export const indexedKinds = [reservedDomain.name, agentIngress.name, tlsCertificate.name]

interface ManagedDomainListener {
  /** Undefined: no longer managed, or never. */
  domain(id: string, domain: ManagedDomain | undefined): void
  /** A domain no longer uses this certificate. */
  released(certificateId: string): void
}

interface IndexedDomain {
  readonly body: Domain
  readonly certificate: string | null
}

/** What is kept of a certificate in memory. */
interface Issued extends IssuedCertificate {
  readonly names: readonly string[]
}

/** The domains with managed certificates, in memory. Of certificates only their dates and names are kept. */
export class ManagedDomainIndex implements Follower {
  readonly #environment: DomainEnvironment
  readonly #listener: ManagedDomainListener
  readonly #domains = new Map<string, IndexedDomain>()
  readonly #certificates = new Map<string, Issued>()

  constructor(environment: DomainEnvironment, listener: ManagedDomainListener) {
    this.#environment = environment
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
    // A domain depends on its certificate, which may come later in the batch.
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
    const proving = provingOf(body, this.#environment)
    const certificate = body.certificate ? this.#certificates.get(body.certificate) : undefined
    return {
      id,
      keyType: policy.private_key_type,
      ...proving,
      // The shared domain may now need more names than were ordered for it.
      certificate: proving.names.every(name => certificate?.names.includes(name)) ? certificate : undefined,
      renewsAt: renewsAt ? Date.parse(renewsAt) : undefined,
    }
  }
}

function certificateOf({ id, body }: SourceRow): Issued {
  const { not_before: from, not_after: to, private_key_type: keyType } = body as Certificate
  const { dns_names: names } = (body as Certificate).subject_alternative_names
  return {
    id,
    notBefore: Date.parse(from),
    notAfter: Date.parse(to),
    keyType,
    names: names.map(name => name.toLowerCase()),
  }
}
