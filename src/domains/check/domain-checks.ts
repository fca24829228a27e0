import { setTimeout as wait } from 'node:timers/promises'
import { checkDns, type DnsCheckOptions } from '#acme/dns-check.ts'
import type { SingleResolver } from '#acme/dns.ts'
import type { ManagedDomain } from '#acme/domains.ts'
import { fail } from '#base/errors.ts'
import { timestamp } from '#base/ids.ts'
import type { CheckedDomain } from '#contract/domain-check.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import type { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import type { Stored } from '#contract/shape.ts'
import { provingOf, type DomainEnvironment } from '#domains/acme/proving.ts'
import { foundRecords, requiredRecords } from '#domains/check/records.ts'
import { nextOf, stepsOf, type DnsVerdict } from '#domains/check/steps.ts'
import type { Store } from '#store/store.ts'

type Domain = Stored<typeof reservedDomain.shape>

interface DomainChecksOptions {
  readonly store: Pick<Store, 'get'>
  readonly environment: DomainEnvironment
  readonly dnsCheck: DnsCheckOptions
  /** Asked one by one, to show where they differ. */
  readonly resolvers: readonly SingleResolver[]
  /** DNS is right: an order that only waited for it need not wait longer. */
  readonly expedite: (id: string) => Promise<void>
  readonly now: () => number
}

/** Name servers of others may be slow. */
const DNS_MS = 10_000
/** Checks of one domain within this time get the same result. */
const KEPT_MS = 2000
const MAX_RUNNING = 16

interface Kept {
  readonly result: Promise<CheckedDomain>
  readonly until: number
}

/** Looks up the DNS records of reserved domains on demand. */
export class DomainChecks {
  readonly #options: DomainChecksOptions
  readonly #kept = new Map<string, Kept>()
  #running = 0

  constructor(options: DomainChecksOptions) {
    this.#options = options
  }

  check(id: string): Promise<CheckedDomain> {
    const { now } = this.#options
    for (const [each, { until }] of this.#kept) if (until <= now()) this.#kept.delete(each)
    const known = this.#kept.get(id)
    if (known !== undefined) return known.result
    if (this.#running >= MAX_RUNNING) fail('domain_checks_busy', { retryAfter: DNS_MS / 1000 })
    this.#running++
    const result = this.#look(id).finally(() => this.#running--)
    this.#kept.set(id, { result, until: now() + KEPT_MS })
    return result
  }

  async #look(id: string): Promise<CheckedDomain> {
    const { store, environment, dnsCheck, resolvers, expedite, now } = this.#options
    const row = await store.get(id)
    if (row?.kind !== reservedDomain.name) return fail('not_found')
    const body = JSON.parse(row.body) as Domain
    const proving = provingOf(body, environment)
    const required = requiredRecords(proving, environment)
    const domain: ManagedDomain = {
      id,
      ...proving,
      keyType: 'ecdsa',
      certificate: undefined,
      renewsAt: undefined,
    }
    const [dns, answers] = await Promise.all([
      verdictOf(domain, dnsCheck),
      Promise.all(resolvers.map(each => answerOf(each, foundRecords(required, proving, each.dns)))),
    ])
    if (dns.state === 'right') await expedite(id)
    const expiresAt = await this.#expiryOf(body)
    const facts = { body, dns, expiresAt, obstacle: proving.obstacle, now: now() }
    return {
      domain: body.domain,
      checked_at: timestamp(now()),
      points_here: dns.state === 'unknown' ? null : dns.state === 'right',
      required,
      found: answers.find(({ error }) => error === null)?.records ?? [],
      answers,
      expires_at: expiresAt === undefined ? null : timestamp(expiresAt),
      steps: stepsOf(facts),
      next: nextOf(facts),
    }
  }

  async #expiryOf({ certificate }: Domain): Promise<number | undefined> {
    const row = certificate === null ? undefined : await this.#options.store.get(certificate)
    if (row === undefined) return undefined
    return Date.parse((JSON.parse(row.body) as Stored<typeof tlsCertificate.shape>).not_after)
  }
}

async function verdictOf(domain: ManagedDomain, options: DnsCheckOptions): Promise<DnsVerdict> {
  try {
    const found = await inTime(checkDns(domain, options))
    return found.proven ? { state: 'right' } : { state: 'wrong', missing: found.missing }
  } catch (error) {
    const { code = 'no answer' } = error as NodeJS.ErrnoException
    return { state: 'unknown', code }
  }
}

async function answerOf(
  { address }: SingleResolver,
  found: Promise<CheckedDomain['found']>,
): Promise<CheckedDomain['answers'][number]> {
  try {
    return { address, records: await inTime(found), error: null }
  } catch (error) {
    const { code = 'ETIMEOUT' } = error as NodeJS.ErrnoException
    return { address, records: [], error: code }
  }
}

/** Rejects when DNS takes too long. */
async function inTime<Result>(work: Promise<Result>): Promise<Result> {
  const done = new AbortController()
  const late = wait(DNS_MS, undefined, { ref: false, signal: done.signal }).then(() => {
    throw new Error('DNS does not respond in time.')
  })
  try {
    return await Promise.race([work, late])
  } finally {
    done.abort()
    late.catch(() => undefined)
  }
}
