import type { Deps } from '#api/call.ts'
import type { NewSignIn } from '#api/dashboard/sessions.ts'
import { newId, timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { auditEvent } from '#contract/events/index.ts'
import { dashboardSession } from '#contract/kinds/dashboard-session.ts'

/** Attempts that are recorded in any one minute: guessing must not fill the audit log. */
const MAX_PER_MINUTE = 30
const MINUTE_MS = 60_000

interface RejectedSignIn {
  readonly method: NewSignIn['method']
  readonly reason: string
  readonly client: Pick<NewSignIn, 'ip' | 'userAgent'>
  /** The user whose sign-in failed. A name that no user has is not recorded: it may be a password. */
  readonly user?: { readonly id: string; readonly email: string }
}

/** Records rejected sign-ins in the audit log. */
export class RejectedSignIns {
  readonly #deps: Pick<Deps, 'store' | 'info' | 'now'> & { readonly log: Log }
  #minute = 0
  #count = 0

  constructor(deps: Pick<Deps, 'store' | 'info' | 'now'> & { readonly log: Log }) {
    this.#deps = deps
  }

  async record({ method, reason, client, user }: RejectedSignIn): Promise<void> {
    const { store, info, now, log } = this.#deps
    const type = auditEvent(dashboardSession, 'rejected')
    if (type === undefined || !this.#mayRecord()) return
    const id = newId('ev', now())
    const at = timestamp(now())
    const { ip, userAgent } = client
    log.warn({ ip, method, user: user?.id, reason }, 'dashboard sign-in rejected')
    const envelope = {
      event_id: id,
      event_type: type,
      event_timestamp: at,
      account_id: info.accountId,
      principal: {
        id: user?.id ?? '',
        subject: user?.email ?? '',
        source: 'Dashboard',
        ip,
        credential: null,
      },
      object: { owner_id: user?.id ?? '', method, reason, ip, user_agent: userAgent.slice(0, 512) },
    }
    await store.commit([{ op: 'event', event: { id, type, at, body: JSON.stringify(envelope) } }])
  }

  #mayRecord(): boolean {
    const minute = Math.floor(this.#deps.now() / MINUTE_MS)
    if (minute !== this.#minute) {
      this.#minute = minute
      this.#count = 0
    }
    return ++this.#count <= MAX_PER_MINUTE
  }
}
