import { joinSession, keepSession } from '#auth/sign-in/cookies.ts'
import type { SignInRequest } from '#auth/sign-in/sign-in-request.ts'
import type { Seal } from '#auth/sign-in/seal.ts'
import type { AuthResult, SignInConfig } from '#auth/sign-in/sign-in.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
/** Browsers keep no cookie for longer. */
const LONGEST = 400 * DAY
/** Together with a usual identity this fits into five cookies. */
const MAX_TOKENS = 12_000

/** A session in one realm, as stored in the cookie. Times are milliseconds. */
export interface AuthSession {
  readonly id: string
  /** The key of the offer by which the user signed in. */
  readonly offer: string
  readonly granted: AuthResult
  /** The URL of the user's provider; tokens are sent to no other. */
  readonly provider: string
  /** The configuration under which the user was allowed. */
  readonly fingerprint: string
  readonly begun: number
  /** When the provider last confirmed the user. */
  readonly checked: number
  /** When the cookie was made. */
  readonly seen: number
}

/** When an unused session expires. */
export function endOf({ begun, seen, granted }: AuthSession, config: SignInConfig): number {
  return Math.min(
    seen + LONGEST,
    granted.until ?? Infinity,
    config.maximumDuration > 0 ? begun + config.maximumDuration * 1000 : Infinity,
    config.inactivityTimeout > 0 ? seen + config.inactivityTimeout * 1000 : Infinity,
  )
}

/** The age at which a cookie is renewed, so that it shows the last use approximately. */
export const renewalMs = ({ inactivityTimeout }: SignInConfig): number =>
  inactivityTimeout > 0 ? Math.min(MINUTE, inactivityTimeout * 100) : DAY

/** When the provider must be asked again. */
export const checkAt = ({ checked }: AuthSession, { authCheckInterval }: SignInConfig): number =>
  authCheckInterval > 0 ? checked + authCheckInterval * 1000 : Infinity

const purpose = ({ audience }: SignInRequest): string => `sign-in session ${audience}`

/** The session in a client's cookies, expired or not. */
export function openSession(seal: Seal, request: SignInRequest): AuthSession | undefined {
  const text = joinSession(request.jar, request.names)
  return text === undefined ? undefined : (seal.open(purpose(request), text) as AuthSession | undefined)
}

/**
 * The cookies for a session. Tokens too long for cookies are left out; if they are needed for a recheck, the session
 * ends when that is due.
 */
export function sessionCookies(
  seal: Seal,
  request: SignInRequest,
  session: AuthSession,
  ttlMs: number,
): string[] {
  const { accessToken = '', refreshToken = '' } = session.granted
  const isLong = accessToken.length + refreshToken.length > MAX_TOKENS
  const kept = isLong ? { ...session, granted: withoutTokens(session.granted) } : session
  const text = seal.seal(purpose(request), kept, ttlMs)
  return keepSession(text, request.names, request.jar, ttlMs / 1000)
}

export function withoutTokens({ identity, until }: AuthResult): AuthResult {
  return { identity, ...(until !== undefined && { until }) }
}
