import type { Domains, Job, ManagedDomain, NewCertificate } from '#acme/domains.ts'
import { isWorkedOn } from '#acme/order-rows.ts'
import { nameOf } from '#acme/orders.ts'
import { hooksOf } from '#api/behaviours/index.ts'
import type { Call } from '#api/call.ts'
import { Draft } from '#api/draft.ts'
import { eventOf } from '#api/events.ts'
import { deserialize } from '#api/records.ts'
import { serialize } from '#api/row-text.ts'
import { changeQueue } from '#api/change-queue.ts'
import { inBackground } from '#base/background.ts'
import { timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { ownerIn } from '#contract/access-rule.ts'
import { references, type ResourceBody } from '#contract/body.ts'
import type { Kind } from '#contract/kind.ts'
import { agentIngress } from '#contract/kinds/agent-ingress.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import type { Stored } from '#contract/shape.ts'
import type { Source } from '#registry/records/source.ts'
import { ManagedDomainIndex, indexedKinds } from '#domains/acme/managed-domain-index.ts'
import { certificateWrites } from '#domains/acme/new-certificate.ts'
import type { DomainEnvironment } from '#domains/acme/proving.ts'
import { CONFLICT, retryOnConflict } from '#store/optimistic.ts'
import { rowsOf } from '#store/rows-of.ts'
import type { Row, Write } from '#store/store.ts'

type Domain = Stored<typeof reservedDomain.shape>
type Status = NonNullable<Domain['certificate_management_status']>

/** The new state of a domain, and further writes. */
interface Next {
  readonly body: ResourceBody
  readonly also: readonly Write[]
  readonly isNews: boolean
}

interface ReservedDomainsOptions {
  readonly call: Call
  readonly source: Source
  readonly log: Log
  readonly environment: DomainEnvironment
}

/** Reserved domains and agent ingresses for the certificate issuer. */
export class ReservedDomains implements Domains {
  readonly #call: Call
  readonly #source: Source
  readonly #log: Log
  readonly #environment: DomainEnvironment

  constructor({ call, source, log, environment }: ReservedDomainsOptions) {
    this.#call = call
    this.#environment = environment
    this.#source = source
    this.#log = log
  }

  follow(listener: (id: string, domain: ManagedDomain | undefined) => void): Promise<() => void> {
    const index = new ManagedDomainIndex(this.#environment, {
      domain: listener,
      released: id =>
        void inBackground(
          {
            task: 'acme',
            log: this.#log,
            failed: 'an unused certificate could not be removed',
            about: { id },
          },
          () => this.#discard(id),
        ),
    })
    return this.#source.watch(indexedKinds, index)
  }

  async manages(id: string): Promise<boolean> {
    const row = await this.#call.store.get(id)
    const kind = kindOf(row)
    return row !== undefined && kind !== undefined && isManaged(deserialize(kind, row, this.#call))
  }

  async chain(certificateId: string): Promise<string | undefined> {
    const row = await this.#call.store.get(certificateId)
    if (row?.kind !== tlsCertificate.name) return undefined
    return (JSON.parse(row.body) as Stored<typeof tlsCertificate.shape>).certificate_pem
  }

  reportStatus(
    id: string,
    status: { readonly job: Job | undefined; readonly renewsAt?: number },
    also: readonly Write[] = [],
  ): Promise<boolean> {
    return this.#change(id, also, async body => {
      const renewsAt = status.renewsAt === undefined ? statusOf(body)?.renews_at : timestamp(status.renewsAt)
      const next: Status = { renews_at: renewsAt ?? null, provisioning_job: jobOf(status.job) }
      return { body: { ...body, certificate_management_status: next }, also: [], isNews: false }
    })
  }

  reportObstacle(domain: ManagedDomain, message: string, isSoleServer: boolean): Promise<boolean> {
    const { store, now } = this.#call
    return this.#change(domain.id, [], async body => {
      const { renews_at: renewsAt = null, provisioning_job: job = null } = statusOf(body) ?? {}
      if (job?.msg === message) return { body, also: [], isNews: false }
      if (job !== null && !isSoleServer && (await isWorkedOn(store, nameOf(domain), now()))) return undefined
      const obstacle = jobOf({ error: 'internal', message, startedAt: now(), retriesAt: undefined })
      const next: Status = { renews_at: renewsAt, provisioning_job: obstacle }
      return { body: { ...body, certificate_management_status: next }, also: [], isNews: false }
    })
  }

  issued(id: string, certificate: NewCertificate, also: readonly Write[]): Promise<boolean> {
    return this.#change(id, also, async body => {
      const made = await certificateWrites(
        certificate,
        { domain: String(body['domain']), owner: ownerIn(body) },
        this.#call,
      )
      const status: Status = { renews_at: timestamp(certificate.renewsAt), provisioning_job: null }
      const next = { ...body, certificate: made.id, certificate_management_status: status }
      return { body: next, also: made.writes, isNews: true }
    })
  }

  /** Deletes unused issued certificates: leftovers of a killed process. */
  async sweep(): Promise<void> {
    for await (const { id, body } of rowsOf(this.#call.store, tlsCertificate.name))
      if (wasIssued(JSON.parse(body) as ResourceBody)) await this.#discard(id)
  }

  /** Reads a domain, computes its new state with `apply`, and writes it; retried on a conflict. */
  #change(
    id: string,
    also: readonly Write[],
    apply: (body: ResourceBody) => Promise<Next | undefined>,
  ): Promise<boolean> {
    const { store } = this.#call
    const attempt = async (): Promise<boolean | typeof CONFLICT> => {
      const row = await store.get(id)
      const kind = kindOf(row)
      if (row === undefined || kind === undefined) return false
      const before = deserialize(kind, row, this.#call)
      if (!isManaged(before)) return false
      const next = await apply(before)
      if (next === undefined) return false
      const outcome = await store.commit([
        ...also,
        ...next.also,
        ...(await this.#writes(kind, row, before, next)),
      ])
      if (outcome.ok) return true
      return outcome.refusal.reason === 'stale' && outcome.refusal.id === id ? CONFLICT : false
    }
    return changeQueue.run(id, () => retryOnConflict(attempt, () => false))
  }

  async #writes(kind: Kind, row: Row, before: ResourceBody, { body, isNews }: Next): Promise<Write[]> {
    if (JSON.stringify(body) === JSON.stringify(before))
      return [{ op: 'expect', id: row.id, version: row.version }]
    const draft = new Draft({ kind, id: row.id, body, before, given: {}, parent: row.parent })
    // The same derived fields as an API update, which replaces all claims.
    await hooksOf(kind).prepare?.(draft, this.#call)
    const next = { ...row, version: row.version + 1, body: serialize(kind, row.id, draft.body, this.#call) }
    const refs = [...references(kind.shape, draft.body).map(mention => mention.id), ...draft.holds]
    return [
      { op: 'update', entry: { row: next, refs, claims: draft.claims } },
      ...(isNews ? await eventOf(kind, draft.body, 'updated', this.#call) : []),
    ]
  }

  async #discard(id: string): Promise<void> {
    const { store } = this.#call
    const row = await store.get(id)
    if (row?.kind !== tlsCertificate.name) return
    const body = deserialize(tlsCertificate, row, this.#call)
    if (!wasIssued(body) || (await store.referrers(id, 1)).length > 0) return
    // Rejected if it is in use again.
    await store.commit([
      { op: 'remove', id, version: row.version },
      ...(await eventOf(tlsCertificate, body, 'deleted', this.#call)),
    ])
  }
}

/** Names that certificates are issued for are of these kinds. */
const kindOf = (row: Row | undefined): Kind | undefined =>
  [reservedDomain, agentIngress].find(({ name }) => name === row?.kind)

const wasIssued = (body: ResourceBody): boolean => typeof body['issued_at'] === 'string'
const isManaged = (body: ResourceBody): boolean => Boolean((body as Domain).certificate_management_policy)
const statusOf = (body: ResourceBody): Status | null => (body as Domain).certificate_management_status

function jobOf(job: Job | undefined): Status['provisioning_job'] {
  if (job === undefined) return null
  const code = job.error === 'dns' ? 'DNS_ERROR' : 'INTERNAL_ERROR'
  return {
    error_code: job.error === undefined ? null : code,
    msg: job.message,
    started_at: timestamp(job.startedAt),
    retries_at: job.retriesAt === undefined ? null : timestamp(job.retriesAt),
  }
}
