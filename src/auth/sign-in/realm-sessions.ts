import type { ModuleContext } from '#http/module-context.ts'
import { openSession } from '#auth/sign-in/auth-session.ts'
import { AuthSessions, endSession, type FoundSession } from '#auth/sign-in/auth-sessions.ts'
import type { Shared } from '#auth/sign-in/shared.ts'
import type { SignInOffer } from '#auth/sign-in/sign-in.ts'
import type { SignInRequest } from '#auth/sign-in/sign-in-request.ts'

/** An offer with its sessions. */
export interface Offered extends SignInOffer {
  readonly sessions: AuthSessions
}

/** The sessions of one realm. A browser has one there, of one of the offers. */
export class RealmSessions {
  readonly offers: readonly Offered[]
  readonly #shared: Shared

  constructor(shared: Shared, offers: readonly SignInOffer[], moduleContext: ModuleContext) {
    this.#shared = shared
    this.offers = offers.map(offer => ({
      ...offer,
      sessions: new AuthSessions(shared, offer, moduleContext),
    }))
  }

  offer(key: string): Offered | undefined {
    return this.offers.find(each => each.key === key)
  }

  /** The session of a client; undefined when there is none, it has ended, or its offer no longer exists. */
  async find(request: SignInRequest): Promise<(FoundSession & { readonly offer: Offered }) | undefined> {
    const opened = openSession(this.#shared.seal, request)
    const offer = opened && this.offer(opened.offer)
    const found = offer && (await offer.sessions.current(request, opened))
    return found && { ...found, offer }
  }

  /** Ends the session in the client's cookies. */
  async end(request: SignInRequest): Promise<void> {
    const opened = openSession(this.#shared.seal, request)
    if (opened !== undefined) await endSession(this.#shared, opened.id)
  }
}
