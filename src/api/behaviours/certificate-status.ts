import type { Call } from '#api/call.ts'
import { timestamp } from '#base/ids.ts'
import type { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import type { Stored } from '#contract/shape.ts'

type Status = NonNullable<Stored<typeof reservedDomain.shape>['certificate_management_status']>

/** The initial certificate status of a managed name. */
export function firstStatus({ info, now }: Call): Status {
  const { notIssuing: msg } = info
  if (msg === undefined) return { renews_at: null, provisioning_job: null }
  const job = { error_code: 'INTERNAL_ERROR', msg, started_at: timestamp(now()), retries_at: null } as const
  return { renews_at: null, provisioning_job: job }
}
