import type { ManagedDomain } from '#acme/domains.ts'
import { plausible, renewalTime } from '#acme/renewal.ts'

/** A domain and when it is due. */
export class ScheduledDomain {
  domain: ManagedDomain
  /** Nothing is ordered before. */
  holdUntil = 0
  checkAt: number
  readonly abort = new AbortController()
  running: Promise<void> | undefined

  constructor(domain: ManagedDomain, checkAt: number) {
    this.domain = domain
    this.checkAt = checkAt
  }

  /** A new certificate ends all waiting: it is evaluated by itself. */
  learn(domain: ManagedDomain): void {
    if (domain.certificate?.id !== this.domain.certificate?.id) this.holdUntil = 0
    this.domain = domain
  }

  /** Delays the next order, unless the work is already outdated. */
  hold(worked: ManagedDomain, until: number): void {
    this.holdUntil = worked.certificate?.id === this.domain.certificate?.id ? until : 0
  }

  /** When a certificate should be ordered. */
  get dueAt(): number {
    return Math.max(this.holdUntil, wantedAt(this.domain))
  }

  /** When it is due next. */
  nextAt(now: number): number {
    this.holdUntil = plausible(this.holdUntil, now)
    this.checkAt = plausible(this.checkAt, now)
    // While a certificate is being ordered, the order checks everything, and alone reports progress.
    const isWanted = wantedAt(this.domain) <= now
    return isWanted ? this.dueAt : Math.min(this.dueAt, this.checkAt)
  }
}

const noJitter = (): number => 0

/** When a domain should get another certificate; 0 when it has no suitable one. */
export function wantedAt({ certificate, keyType, renewsAt }: ManagedDomain): number {
  if (certificate?.keyType !== keyType) return 0
  return renewsAt ?? renewalTime(certificate, noJitter)
}

/** The due domains, the longest due first, and when there will be more. */
export function schedule(
  scheduledDomains: Iterable<ScheduledDomain>,
  now: number,
): { readonly ready: readonly ScheduledDomain[]; readonly next: number } {
  const ready: { entry: ScheduledDomain; at: number }[] = []
  let next = Infinity
  for (const scheduled of scheduledDomains) {
    if (scheduled.running !== undefined) continue
    const at = scheduled.nextAt(now)
    if (at <= now) ready.push({ entry: scheduled, at })
    else next = Math.min(next, at)
  }
  ready.sort((one, other) => one.at - other.at)
  return { ready: ready.map(({ entry: scheduled }) => scheduled), next }
}
