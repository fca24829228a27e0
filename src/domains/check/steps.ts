import { timestamp } from '#base/ids.ts'
import type { CheckedDomain } from '#contract/domain-check.ts'
import type { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import type { Stored } from '#contract/shape.ts'

export type DnsVerdict =
  | { readonly state: 'right' }
  | { readonly state: 'wrong'; readonly missing: string }
  | { readonly state: 'unknown'; readonly code: string }

/** What is known of a domain. */
interface DomainFacts {
  readonly body: Stored<typeof reservedDomain.shape>
  readonly dns: DnsVerdict
  /** Of its certificate, if it has one. */
  readonly expiresAt: number | undefined
  /** Why nothing is ordered at all. */
  readonly obstacle: string | undefined
  readonly now: number
}

type Step = CheckedDomain['steps'][number]

/** From DNS to the certificate. */
export const stepsOf = (facts: DomainFacts): Step[] => [
  { name: 'dns', ...dnsStep(facts) },
  { name: 'order', ...orderStep(facts) },
  { name: 'certificate', ...certificateStep(facts) },
]

function dnsStep({ dns, body: { domain } }: DomainFacts): Omit<Step, 'name'> {
  if (dns.state === 'right') return { state: 'done', message: `${domain} points to this server.` }
  if (dns.state === 'wrong') return { state: 'failed', message: dns.missing }
  return { state: 'waiting', message: `DNS has no information about ${domain} (${dns.code}).` }
}

function orderStep({ body, dns, expiresAt, obstacle }: DomainFacts): Omit<Step, 'name'> {
  if (!body.certificate_management_policy)
    return { state: 'not_needed', message: 'Certificates of this domain are not managed by the server.' }
  const job = body.certificate_management_status?.provisioning_job
  if (obstacle !== undefined) return { state: 'failed', message: obstacle }
  if (expiresAt !== undefined && !job?.error_code)
    return { state: 'done', message: 'The certificate is issued.' }
  // A DNS failure from before is outdated, and the order has been brought forward.
  if (job?.error_code === 'DNS_ERROR')
    return {
      state: 'waiting',
      message:
        dns.state === 'right'
          ? 'The certificate is about to be ordered.'
          : 'It is ordered when DNS is right.',
    }
  if (job?.error_code) return { state: 'failed', message: job.msg }
  return { state: 'waiting', message: job?.msg ?? 'The certificate is about to be ordered.' }
}

function certificateStep({ body, expiresAt, now }: DomainFacts): Omit<Step, 'name'> {
  if (expiresAt === undefined)
    return body.certificate_management_policy
      ? { state: 'waiting', message: 'There is no certificate yet.' }
      : { state: 'failed', message: 'The domain has no certificate of its own.' }
  const end = timestamp(expiresAt)
  return expiresAt <= now
    ? { state: 'failed', message: `The certificate expired at ${end}.` }
    : { state: 'done', message: `The certificate is valid until ${end}.` }
}

/** What to do, by the first step that is not done. */
export function nextOf(facts: DomainFacts): string {
  const { dns } = facts
  if (dns.state === 'wrong') return dns.missing
  if (dns.state === 'unknown') return 'Check the name servers of the domain, then check again.'
  const [order, certificate] = [orderStep(facts), certificateStep(facts)]
  if (order.state === 'failed') return order.message
  if (order.state === 'waiting') return 'Wait for the certificate, then check again.'
  if (certificate.state !== 'failed') return 'Nothing: the domain is ready.'
  return 'Upload a certificate and set it as certificate_id, or set certificate_management_policy.'
}
