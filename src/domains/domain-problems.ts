import { timestamp } from '#base/ids.ts'
import { ownerIn } from '#contract/access-rule.ts'
import { agentIngress } from '#contract/kinds/agent-ingress.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import type { StatusProblem } from '#contract/status.ts'
import { isExpiring } from '#pki/expiring.ts'
import type { Records } from '#registry/records/records.ts'
import type { RowOf } from '#registry/records/source.ts'

type DomainRow = RowOf<typeof reservedDomain> | RowOf<typeof agentIngress>

/** Something that needs attention, and the owner of the resource. */
export interface OwnedProblem extends StatusProblem {
  readonly ownerId: string
}

/** The domains whose certificate or DNS needs attention. */
export function* domainProblems(records: Pick<Records, 'all' | 'get'>, now: number): Generator<OwnedProblem> {
  for (const row of [...records.all(reservedDomain), ...records.all(agentIngress)]) {
    const common = { name: row.body.domain ?? null, resource_id: row.id, ownerId: ownerIn(row.body) }
    const expiry = expiryProblem(row, records, now)
    if (expiry) yield { ...common, area: 'certificates', ...expiry }
    const job = row.body.certificate_management_status?.provisioning_job
    if (!job?.error_code) continue
    const area = job.error_code === 'DNS_ERROR' ? 'dns' : 'certificates'
    yield { ...common, area, level: 'attention', message: job.msg }
  }
}

function expiryProblem(
  { body }: DomainRow,
  records: Pick<Records, 'get'>,
  now: number,
): Pick<StatusProblem, 'level' | 'message'> | undefined {
  const certificate =
    typeof body.certificate === 'string' ? records.get(tlsCertificate, body.certificate) : undefined
  const [from, to] = [certificate?.body.not_before, certificate?.body.not_after].map(text =>
    Date.parse(text ?? ''),
  )
  if (from === undefined || to === undefined || Number.isNaN(to)) return undefined
  const advice = body.certificate_management_policy
    ? 'This server renews it; see certificate_management_status.'
    : 'Upload a new one and set it as certificate_id.'
  if (to <= now)
    return { level: 'failing', message: `The certificate expired at ${timestamp(to)}. ${advice}` }
  if (!isExpiring(from, to, now)) return undefined
  return { level: 'attention', message: `The certificate expires at ${timestamp(to)}. ${advice}` }
}
