import type { Domains, Job, ManagedDomain } from '#acme/domains.ts'
import { DnsSilent, DnsNotReady, StillWaiting, failureOf, nextTry } from '#acme/failure.ts'
import { LostOrder, type HeldOrder } from '#acme/held-order.ts'
import type { Issuance } from '#acme/issuance.ts'
import { moment } from '#acme/order-rows.ts'
import { nameOf, type Orders } from '#acme/orders.ts'
import type { AcmeTimings } from '#acme/timings.ts'
import { checkDns, type DnsCheckOptions } from '#acme/dns-check.ts'
import type { Log } from '#base/log.ts'
import type { Write } from '#store/store.ts'

interface OrderRunnerOptions {
  readonly orders: Orders
  readonly issuance: Issuance
  readonly domains: Domains
  readonly dnsCheck: DnsCheckOptions
  readonly timings: AcmeTimings
  readonly log: Log
  readonly now: () => number
  readonly random: () => number
  /** The result of each completed order, for metrics. */
  readonly onResult: (result: 'issued' | 'failed') => void
}

/** Until the new certificate is known everywhere. */
const NEWS_MS = 30_000
const LOST_MS = 1000
/** An obstacle lasts until the next start; this only restores an overwritten status. */
const OBSTACLE_MS = 3_600_000

/** Whether DNS points here. Throws the status for people otherwise. */
export async function requireDnsCheck(domain: ManagedDomain, dnsCheck: DnsCheckOptions): Promise<void> {
  const found = await checkDns(domain, dnsCheck).catch((cause: unknown) => {
    const { code = 'no answer' } = cause as NodeJS.ErrnoException
    const { advice } = domain
    const silence = `DNS has no information about ${nameOf(domain)} (${code}).`
    throw new DnsSilent(advice === undefined ? silence : `${silence} ${advice}`, { cause })
  })
  if (!found.proven) throw new DnsNotReady(found.missing)
}

/** Works on the order of one domain, and reports progress. */
export class OrderRunner {
  readonly #options: OrderRunnerOptions

  constructor(options: OrderRunnerOptions) {
    this.#options = options
  }

  /** Resolves to the next due time of the domain. */
  async run(domain: ManagedDomain, signal: AbortSignal): Promise<number> {
    const { orders, issuance, dnsCheck, now, log, onResult } = this.#options
    if (domain.obstacle !== undefined) return this.#reportObstacle(domain, domain.obstacle)
    const taken = await orders.take(domain)
    if ('notBefore' in taken) return taken.notBefore
    const { order } = taken
    try {
      const state = order.body.url === null ? 'checking' : order.body.state
      await order.save({ state, next_try_at: null }, this.#statusWriter(domain, this.#running(order)))
      await requireDnsCheck(domain, dnsCheck)
      await issuance.run(domain, order, signal)
    } catch (error) {
      return this.#after(error, domain, order, signal)
    }
    onResult('issued')
    log.info({ domain: nameOf(domain) }, 'certificate issued')
    return now() + NEWS_MS
  }

  /** No order is kept, so that none has to be waited for once the obstacle is gone. */
  async #reportObstacle(domain: ManagedDomain, obstacle: string): Promise<number> {
    const { orders, domains, now } = this.#options
    await orders.end(domain.id, nameOf(domain))
    await domains.reportObstacle(domain, obstacle, true)
    return now() + OBSTACLE_MS
  }

  async #after(
    error: unknown,
    domain: ManagedDomain,
    order: HeldOrder,
    signal: AbortSignal,
  ): Promise<number> {
    try {
      if (error instanceof LostOrder) throw error
      if (signal.aborted) {
        await order.release()
        return this.#options.now()
      }
      if (error instanceof StillWaiting) return await this.#suspend(error, domain, order)
      return await this.#failed(error, domain, order)
    } catch (lost) {
      if (!(lost instanceof LostOrder)) throw lost
      return this.#options.now() + LOST_MS
    }
  }

  /** The CA takes its time: the order stays, and its slot goes to another one. */
  async #suspend({ retryAt }: StillWaiting, domain: ManagedDomain, order: HeldOrder): Promise<number> {
    const job = { ...this.#running(order), retriesAt: retryAt }
    await order.release({ next_try_at: moment(retryAt) }, this.#statusWriter(domain, job))
    return retryAt
  }

  async #failed(error: unknown, domain: ManagedDomain, order: HeldOrder): Promise<number> {
    const { timings, now, random, log, onResult } = this.#options
    const failure = failureOf(error, now(), random)
    const { error: code, message, orderLives, dnsOnly = false } = failure
    // A user who took days to set a record must not wait for hours because of that.
    const counts = dnsOnly ? { looks: order.body.looks + 1 } : { looks: 0, attempts: order.body.attempts + 1 }
    const failures = counts.attempts ?? counts.looks
    const retriesAt = nextTry(failure, { failures, shortest: timings.retryMs, now: now() }, random)
    const facts = { domain: nameOf(domain), retriesAt: moment(retriesAt) }
    if (dnsOnly) log.info({ ...facts, missing: message }, 'domain DNS not ready')
    else log.warn({ ...facts, error }, 'certificate not issued')
    if (!dnsOnly) onResult('failed')
    const job = { error: code, message, startedAt: Date.parse(order.body.started_at), retriesAt }
    const status = this.#statusWriter(domain, job)
    const changes = { ...counts, next_try_at: moment(retriesAt), error: message, state: 'waiting' } as const
    if (orderLives) await order.release(changes, status)
    else {
      const over = { ...changes, url: null, challenge: null }
      await order.release(over, await order.withoutChallenges(status))
    }
    return retriesAt
  }

  #running(order: HeldOrder): Job {
    const { started_at: startedAt, url } = order.body
    const message = url === null ? 'The certificate is being ordered.' : 'The certificate is being issued.'
    return { error: undefined, message, startedAt: Date.parse(startedAt), retriesAt: undefined }
  }

  #statusWriter({ id }: ManagedDomain, job: Job): (writes: readonly Write[]) => Promise<boolean> {
    return writes => this.#options.domains.reportStatus(id, { job }, writes)
  }
}
