import type { AcmeClient } from '#acme/client.ts'
import type { Domains, IssuedCertificate, Job, ManagedDomain } from '#acme/domains.ts'
import { DnsNotReady } from '#acme/failure.ts'
import { nameOf } from '#acme/orders.ts'
import type { DnsCheckOptions } from '#acme/dns-check.ts'
import { nextQuestion, suggestedTime } from '#acme/renewal.ts'
import { requireDnsCheck } from '#acme/order-runner.ts'
import type { Log } from '#base/log.ts'
import { renewalId } from '#pki/renewal-id.ts'

interface CheckOptions {
  readonly client: AcmeClient
  readonly domains: Domains
  readonly dnsCheck: DnsCheckOptions
  readonly checkMs: number
  readonly log: Log
  readonly now: () => number
  readonly random: () => number
}

/** Checks a served certificate: does its name still point here, and when should it be renewed? */
export class Check {
  readonly #options: CheckOptions

  constructor(options: CheckOptions) {
    this.#options = options
  }

  /** Resolves to the time of the next check. */
  async of(domain: ManagedDomain): Promise<number> {
    const { domains, now, checkMs } = this.#options
    const { certificate } = domain
    const latest = now() + checkMs
    if (certificate === undefined) return latest
    const suggestion = await this.#suggestion(domain, certificate)
    const next = Math.min(suggestion.askAgainAt, latest)
    const renewsAt = suggestion.renewsAt ?? domain.renewsAt
    const lost = await this.#lost(domain, next)
    if (lost !== 'unknown')
      await domains.reportStatus(domain.id, { job: lost, ...(renewsAt !== undefined && { renewsAt }) })
    return next
  }

  /** The status of a name that points elsewhere now: its next certificate would not be issued. */
  async #lost(domain: ManagedDomain, retriesAt: number): Promise<Job | 'unknown' | undefined> {
    const { dnsCheck, log, now } = this.#options
    const { obstacle } = domain
    if (obstacle !== undefined)
      return { error: 'internal', message: obstacle, startedAt: now(), retriesAt: undefined }
    try {
      await requireDnsCheck(domain, dnsCheck)
      return undefined
    } catch (error) {
      log.warn({ error, domain: nameOf(domain) }, 'a domain with a certificate does not point here')
      if (!(error instanceof DnsNotReady)) return 'unknown'
      return { error: 'dns', message: error.message, startedAt: now(), retriesAt }
    }
  }

  /** The CA's renewal suggestion (RFC 9773). Optional: without a response the plan stays. */
  async #suggestion(
    domain: ManagedDomain,
    certificate: IssuedCertificate,
  ): Promise<{ renewsAt: number | undefined; askAgainAt: number }> {
    const { client, domains, log, now, random } = this.#options
    try {
      const chain = await domains.chain(certificate.id)
      const id = chain === undefined ? undefined : renewalId(chain)
      const info = id === undefined ? undefined : await client.renewalInfo(id)
      const renewsAt = info && suggestedTime(info, certificate, domain.renewsAt, random)
      return { renewsAt, askAgainAt: nextQuestion(info?.retryAt, now(), random) }
    } catch (error) {
      log.info({ error, domain: nameOf(domain) }, 'the CA sent no renewal information')
      return { renewsAt: undefined, askAgainAt: nextQuestion(undefined, now(), random) }
    }
  }
}
