import type { ModuleContext } from '#http/module-context.ts'
import { SessionRevalidation } from '#auth/sign-in/session-revalidation.ts'
import { TwoGenerationCache } from '#base/two-generation-cache.ts'
import type { SignInRequest } from '#auth/sign-in/sign-in-request.ts'
import {
  checkAt,
  endOf,
  renewalMs,
  type AuthSession,
  sessionCookies,
  withoutTokens,
} from '#auth/sign-in/auth-session.ts'
import type { Shared } from '#auth/sign-in/shared.ts'
import type { AuthResult, SignInMethod, SignInConfig, SignInOffer } from '#auth/sign-in/sign-in.ts'

const REPORT_MS = 60_000
const MAX_REPORTED = 50_000

/** The session of a request. */
export interface FoundSession {
  readonly session: AuthSession
  /** Until then nothing needs to be checked again. */
  readonly goodUntil: number
  /** Cookies to set in the response. */
  readonly cookies: readonly string[]
}

interface Current {
  readonly session: AuthSession
  /** When the next recheck is due. */
  readonly checkAt: number
}

export async function endSession(
  { revocation, userSessions, log }: Shared,
  sessionId: string,
): Promise<void> {
  revocation.ended(sessionId)
  await userSessions.ended(sessionId).catch((error: unknown) => {
    // The cookies are deleted in any case; the row is deleted when it expires.
    log.warn({ error, sessionId }, 'could not save the end of a session')
  })
}

/** The sessions of one offer of a realm. They are stored in the browsers; this is only a cache. */
export class AuthSessions {
  readonly #shared: Shared
  readonly #key: string
  readonly #method: SignInMethod
  readonly #config: SignInConfig
  readonly #moduleContext: ModuleContext
  readonly #revalidation: SessionRevalidation
  readonly #reported = new TwoGenerationCache<number>(MAX_REPORTED)

  constructor(shared: Shared, { key, method, config }: SignInOffer, moduleContext: ModuleContext) {
    this.#shared = shared
    this.#key = key
    this.#method = method
    this.#config = config
    this.#moduleContext = moduleContext
    this.#revalidation = new SessionRevalidation(method, config.authCheckInterval * 1000, shared.now)
  }

  /** The session in a client's cookies, as it is now; undefined when it has ended. */
  async current(request: SignInRequest, opened: AuthSession): Promise<FoundSession | undefined> {
    const { revocation, now } = this.#shared
    if (now() >= endOf(opened, this.#config)) return undefined
    if (!(await revocation.isActive(opened.id, opened.begun))) return undefined
    const current = await this.#checked(opened)
    if (current === undefined) {
      await endSession(this.#shared, opened.id)
      return undefined
    }
    return this.#renewed(request, opened, current)
  }

  /** Records the sign-in, and returns the session cookies. */
  async begin(request: SignInRequest, authResult: AuthResult): Promise<string[]> {
    const { userSessions, revocation, seal, now } = this.#shared
    const { client, head } = request.exchange
    const { id, edgeId } = this.#moduleContext
    const begun = now()
    const { fingerprint, provider } = this.#method
    const draft = {
      offer: this.#key,
      granted: this.#kept(authResult),
      provider: provider.url,
      fingerprint,
      begun,
      checked: begun,
      seen: begun,
    }
    const expiresAt = endOf({ id: '', ...draft }, this.#config)
    const { sessionId } = await userSessions.signedIn({
      identity: authResult.identity,
      provider,
      moduleContext: { id, ...(edgeId !== undefined && { edgeId }) },
      publicUrl: request.origin,
      ip: client.ip,
      userAgent: head.fields.get('user-agent') ?? '',
      expiresAt,
    })
    this.#reported.set(sessionId, begun)
    await revocation.settled(sessionId)
    return sessionCookies(seal, request, { id: sessionId, ...draft }, expiresAt - begun)
  }

  /** The session as last confirmed by its provider; undefined when it is revoked. */
  async #checked(opened: AuthSession): Promise<Current | undefined> {
    const { now } = this.#shared
    const { fingerprint, provider } = this.#method
    if (opened.provider !== provider.url) return undefined
    const newer = this.#revalidation.newer(opened)
    const session = newer ? this.#vouched(opened, newer) : opened
    const isCurrent = session.fingerprint === fingerprint
    const due = this.#method.check ? checkAt(session, this.#config) : Infinity
    if (isCurrent && now() < due) return { session, checkAt: due }
    const verdict = await this.#revalidation.ask(session)
    if (verdict.is === 'refused') return undefined
    if (verdict.is === 'granted') {
      const vouched = this.#vouched(session, verdict.checked)
      return { session: vouched, checkAt: checkAt(vouched, this.#config) }
    }
    // A short provider outage must not end sessions; a long one does.
    const latest = session.checked + 2 * this.#config.authCheckInterval * 1000
    if (!isCurrent || now() >= latest) return undefined
    return { session, checkAt: Math.min(verdict.retryAt, latest) }
  }

  #vouched(
    session: AuthSession,
    { granted: authResult, at }: { granted: AuthResult; at: number },
  ): AuthSession {
    return { ...session, granted: this.#kept(authResult), fingerprint: this.#method.fingerprint, checked: at }
  }

  #renewed(request: SignInRequest, opened: AuthSession, current: Current): FoundSession {
    const { seal, now } = this.#shared
    const time = now()
    const every = renewalMs(this.#config)
    const isRenewed = current.session !== opened || time >= opened.seen + every
    const session = isRenewed ? { ...current.session, seen: time } : opened
    const end = endOf(session, this.#config)
    // A cookie stays as valid as when it was issued, also for clients that ignore the newer one.
    const goodUntil = Math.min(
      endOf(opened, this.#config),
      current.checkAt,
      session.seen + every,
      this.#report(session.id, end),
    )
    const cookies = isRenewed ? sessionCookies(seal, request, session, end - time) : []
    return { session, goodUntil, cookies }
  }

  /** Records that a session is used, unless that was done lately; returns when it is due again. */
  #report(sessionId: string, expiresAt: number): number {
    const { now, userSessions } = this.#shared
    const time = now()
    const reportedAt = this.#reported.get(sessionId)
    if (reportedAt !== undefined && time < reportedAt + REPORT_MS) return reportedAt + REPORT_MS
    this.#reported.set(sessionId, time)
    userSessions.active(sessionId, expiresAt)
    return time + REPORT_MS
  }

  /** The cookie content: tokens only if they are needed. */
  #kept(authResult: AuthResult): AuthResult {
    const isAsked = this.#method.check !== undefined && this.#config.authCheckInterval > 0
    return isAsked || this.#method.passesTokens ? authResult : withoutTokens(authResult)
  }
}
