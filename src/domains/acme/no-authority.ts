import { wantedAt } from '#acme/schedule.ts'
import type { ManagedDomain } from '#acme/domains.ts'
import { inBackground } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import { SerialQueue } from '#base/serial-queue.ts'
import type { ReservedDomains } from '#domains/acme/reserved-domains.ts'

interface NoAuthorityOptions {
  readonly domains: ReservedDomains
  /** No other server uses the same database, so none orders certificates. */
  readonly isSoleServer: boolean
  readonly log: Log
  readonly now: () => number
}

const CHECK_MS = 3_600_000
/** The status of domains that wait for a certificate. */
export const NO_AUTHORITY =
  'Nothing is ordered: this server has no certificate authority. Set ADIT_ACME_DIRECTORY to the directory of one (ACME), or upload a certificate and set it as certificate_id.'

/**
 * Reports on every domain without its certificate that this server will not order one; resolves to how to stop. New
 * domains get the status at creation; this is for older ones, and for those whose certificate becomes due.
 */
export async function reportNoAuthority(options: NoAuthorityOptions): Promise<() => Promise<void>> {
  const { domains, isSoleServer, log, now } = options
  const known = new Map<string, ManagedDomain>()
  const reported = new Set<string>()
  const queue = new SerialQueue()
  let isClosed = false

  const check = async (id: string): Promise<void> => {
    const domain = known.get(id)
    if (isClosed || domain === undefined) return
    const isWanted = wantedAt(domain) <= now()
    if (isWanted && (await domains.reportObstacle(domain, NO_AUTHORITY, isSoleServer))) reported.add(id)
    // Management was disabled, or another server has issued it.
    else if (!isWanted && reported.delete(id)) await domains.reportStatus(id, { job: undefined })
  }
  const attend = (id: string): void => {
    const failed = 'could not update the status of a domain'
    void queue.run(() => inBackground({ task: 'acme', log, failed, about: { id } }, () => check(id)))
  }

  const unfollow = await domains.follow((id, domain) => {
    if (domain === undefined) {
      known.delete(id)
      reported.delete(id)
    } else {
      known.set(id, domain)
      attend(id)
    }
  })
  const timer = setInterval(() => [...known.keys()].forEach(attend), CHECK_MS).unref()
  return async () => {
    isClosed = true
    clearInterval(timer)
    unfollow()
    await queue.settled()
  }
}
