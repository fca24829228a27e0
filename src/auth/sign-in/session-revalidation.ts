import { Problem } from '#base/errors.ts'
import { TwoGenerationCache } from '#base/two-generation-cache.ts'
import type { AuthSession } from '#auth/sign-in/auth-session.ts'
import type { AuthResult, SignInMethod } from '#auth/sign-in/sign-in.ts'

/** How long requests wait for a provider; the check continues in the background. */
const WAIT_MS = 3000
const MAX_KNOWN = 10_000
/** Minimum and maximum delay between attempts at a provider that does not respond. */
const RETRY_MS = { least: 1000, most: 30_000 } as const

/** The provider's last information about a session's user. */
interface Checked {
  readonly granted: AuthResult
  readonly at: number
}

type RevalidationResult =
  | { readonly is: 'granted'; readonly checked: Checked }
  | { readonly is: 'refused' }
  /** The provider has not responded; retried at `retryAt`. */
  | { readonly is: 'unreachable'; readonly retryAt: number }

/** Rechecks users at a provider: one check at a time per session, shared by all requests. */
export class SessionRevalidation {
  readonly #method: SignInMethod
  readonly #now: () => number
  readonly #retryMs: number
  readonly #flights = new Map<string, Promise<RevalidationResult>>()
  /** Requests with an older cookie use this result; its refresh token may work only once. */
  readonly #known = new TwoGenerationCache<Checked>(MAX_KNOWN)
  readonly #failed = new TwoGenerationCache<number>(MAX_KNOWN)

  constructor(method: SignInMethod, intervalMs: number, now: () => number) {
    this.#method = method
    this.#now = now
    this.#retryMs = Math.min(RETRY_MS.most, Math.max(RETRY_MS.least, intervalMs / 10))
  }

  /** Information that is newer than the session's cookie. */
  newer(session: AuthSession): Checked | undefined {
    const known = this.#known.get(session.id)
    return known !== undefined && known.at > session.checked ? known : undefined
  }

  async ask(session: AuthSession): Promise<RevalidationResult> {
    const retryAt = this.#failed.get(session.id) ?? 0
    if (this.#now() < retryAt) return { is: 'unreachable', retryAt }
    const flight = this.#flights.get(session.id) ?? this.#begin(session)
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<RevalidationResult>(resolve => {
      timer = setTimeout(() => resolve({ is: 'unreachable', retryAt: this.#now() }), WAIT_MS)
    })
    const verdict = await Promise.race([flight, late])
    clearTimeout(timer)
    return verdict
  }

  #begin(session: AuthSession): Promise<RevalidationResult> {
    const flight = this.#revalidate(session).finally(() => this.#flights.delete(session.id))
    this.#flights.set(session.id, flight)
    return flight
  }

  async #revalidate(session: AuthSession): Promise<RevalidationResult> {
    if (!hasTokens(session.granted)) return { is: 'refused' }
    try {
      const authResult = await this.#method.check?.(session.granted)
      if (authResult === undefined) return { is: 'refused' }
      // Now another user, so the session is not theirs.
      if (authResult.identity.id !== session.granted.identity.id) return { is: 'refused' }
      const checked = { granted: authResult, at: this.#now() }
      this.#known.set(session.id, checked)
      this.#failed.delete(session.id)
      return { is: 'granted', checked }
    } catch (error) {
      if (error instanceof Problem && error.status < 500) return { is: 'refused' }
      const retryAt = this.#now() + this.#retryMs
      this.#failed.set(session.id, retryAt)
      return { is: 'unreachable', retryAt }
    }
  }
}

const hasTokens = ({ accessToken, refreshToken }: AuthResult): boolean =>
  accessToken !== undefined || refreshToken !== undefined
