import type { ModuleContext } from '#http/place.ts'
import { Checks } from '#auth/sign-in/checks.ts'
import { Generations } from '#base/generations.ts'
import type { Guest } from '#auth/sign-in/guest.ts'
import {
  checkAt,
  endOf,
  openSession,
  renewalMs,
  type Session,
  sessionCookies,
  withoutTokens,
} from '#auth/sign-in/session.ts'
import type { Shared } from '#auth/sign-in/shared.ts'
import type { Granted, SignInMethod, SignInTerms } from '#auth/sign-in/sign-in.ts'

const TELL_MS = 60_000
const MAX_TOLD = 50_000

/** The session of a request. */
export interface Found {
  readonly session: Session
  /** Until then nothing needs to be checked again. */
  readonly goodUntil: number
  /** Cookies to set in the response. */
  readonly cookies: readonly string[]
}

interface Current {
  readonly session: Session
  /** When the next recheck is due. */
  readonly checkAt: number
}

/** The sessions of one place. They are stored in the browsers; this is only a cache. */
export class Sessions {
  readonly #shared: Shared
  readonly #method: SignInMethod
  readonly #terms: SignInTerms
  readonly #moduleContext: ModuleContext
  readonly #checks: Checks
  readonly #told = new Generations<number>(MAX_TOLD)

  constructor(shared: Shared, method: SignInMethod, terms: SignInTerms, moduleContext: ModuleContext) {
    this.#shared = shared
    this.#method = method
    this.#terms = terms
    this.#moduleContext = moduleContext
    this.#checks = new Checks(method, terms.authCheckInterval * 1000, shared.now)
  }

  /** The session of a client; undefined when there is none, or it has ended. */
  async find(guest: Guest): Promise<Found | undefined> {
    const { seal, presence, now } = this.#shared
    const opened = openSession(seal, guest)
    if (opened === undefined || now() >= endOf(opened, this.#terms)) return undefined
    if (!(await presence.isThere(opened.id, opened.begun))) return undefined
    const current = await this.#checked(opened)
    if (current === undefined) {
      await this.#end(opened.id)
      return undefined
    }
    return this.#renewed(guest, opened, current)
  }

  /** Records the sign-in, and returns the session cookies. */
  async begin(guest: Guest, granted: Granted): Promise<string[]> {
    const { visitors, presence, seal, now } = this.#shared
    const { client, head } = guest.exchange
    const { id, edgeId } = this.#moduleContext
    const begun = now()
    const { fingerprint, provider } = this.#method
    const draft = {
      granted: this.#kept(granted),
      provider: provider.url,
      fingerprint,
      begun,
      checked: begun,
      seen: begun,
    }
    const expiresAt = endOf({ id: '', ...draft }, this.#terms)
    const { sessionId } = await visitors.signedIn({
      identity: granted.identity,
      provider,
      moduleContext: { id, ...(edgeId !== undefined && { edgeId }) },
      publicUrl: guest.origin,
      ip: client.ip,
      userAgent: head.fields.get('user-agent') ?? '',
      expiresAt,
    })
    this.#told.set(sessionId, begun)
    await presence.settled(sessionId)
    return sessionCookies(seal, guest, { id: sessionId, ...draft }, expiresAt - begun)
  }

  /** Ends the session in the client's cookies. */
  async end(guest: Guest): Promise<void> {
    const session = openSession(this.#shared.seal, guest)
    if (session !== undefined) await this.#end(session.id)
  }

  async #end(sessionId: string): Promise<void> {
    const { presence, visitors, log } = this.#shared
    presence.ended(sessionId)
    await visitors.ended(sessionId).catch((error: unknown) => {
      // The cookies are deleted in any case; the row is deleted when it expires.
      log.warn({ error, sessionId }, 'could not save the end of a session')
    })
  }

  /** The session as last confirmed by its provider; undefined when it is revoked. */
  async #checked(opened: Session): Promise<Current | undefined> {
    const { now } = this.#shared
    const { fingerprint, provider } = this.#method
    if (opened.provider !== provider.url) return undefined
    const newer = this.#checks.newer(opened)
    const session = newer ? this.#vouched(opened, newer) : opened
    const isCurrent = session.fingerprint === fingerprint
    const due = this.#method.check ? checkAt(session, this.#terms) : Infinity
    if (isCurrent && now() < due) return { session, checkAt: due }
    const verdict = await this.#checks.ask(session)
    if (verdict.is === 'refused') return undefined
    if (verdict.is === 'granted') {
      const vouched = this.#vouched(session, verdict.checked)
      return { session: vouched, checkAt: checkAt(vouched, this.#terms) }
    }
    // A short provider outage must not end sessions; a long one does.
    const latest = session.checked + 2 * this.#terms.authCheckInterval * 1000
    if (!isCurrent || now() >= latest) return undefined
    return { session, checkAt: Math.min(verdict.retryAt, latest) }
  }

  #vouched(session: Session, { granted, at }: { granted: Granted; at: number }): Session {
    return { ...session, granted: this.#kept(granted), fingerprint: this.#method.fingerprint, checked: at }
  }

  #renewed(guest: Guest, opened: Session, current: Current): Found {
    const { seal, now } = this.#shared
    const time = now()
    const every = renewalMs(this.#terms)
    const isRenewed = current.session !== opened || time >= opened.seen + every
    const session = isRenewed ? { ...current.session, seen: time } : opened
    const end = endOf(session, this.#terms)
    // A cookie stays as valid as when it was issued, also for clients that ignore the newer one.
    const goodUntil = Math.min(
      endOf(opened, this.#terms),
      current.checkAt,
      session.seen + every,
      this.#tell(session.id, end),
    )
    const cookies = isRenewed ? sessionCookies(seal, guest, session, end - time) : []
    return { session, goodUntil, cookies }
  }

  /** Records that a session is used, unless that was done lately; returns when it is due again. */
  #tell(sessionId: string, expiresAt: number): number {
    const { now, visitors } = this.#shared
    const time = now()
    const told = this.#told.get(sessionId)
    if (told !== undefined && time < told + TELL_MS) return told + TELL_MS
    this.#told.set(sessionId, time)
    visitors.active(sessionId, expiresAt)
    return time + TELL_MS
  }

  /** The cookie content: tokens only if they are needed. */
  #kept(granted: Granted): Granted {
    const isAsked = this.#method.check !== undefined && this.#terms.authCheckInterval > 0
    return isAsked || this.#method.passesTokens ? granted : withoutTokens(granted)
  }
}
