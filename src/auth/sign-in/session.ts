import { joinSession, keepSession } from '#auth/sign-in/cookies.ts'
import type { Guest } from '#auth/sign-in/guest.ts'
import type { Seal } from '#auth/sign-in/seal.ts'
import type { Granted, SignInTerms } from '#auth/sign-in/sign-in.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
/** Browsers keep no cookie for longer. */
const LONGEST = 400 * DAY
/** Together with a usual identity this fits into five cookies. */
const MAX_TOKENS = 12_000

/** A session at one place, as stored in the cookie. Times are milliseconds. */
export interface Session {
  readonly id: string
  readonly granted: Granted
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
export function endOf({ begun, seen, granted }: Session, terms: SignInTerms): number {
  return Math.min(
    seen + LONGEST,
    granted.until ?? Infinity,
    terms.maximumDuration > 0 ? begun + terms.maximumDuration * 1000 : Infinity,
    terms.inactivityTimeout > 0 ? seen + terms.inactivityTimeout * 1000 : Infinity,
  )
}

/** The age at which a cookie is renewed, so that it shows the last use approximately. */
export const renewalMs = ({ inactivityTimeout }: SignInTerms): number =>
  inactivityTimeout > 0 ? Math.min(MINUTE, inactivityTimeout * 100) : DAY

/** When the provider must be asked again. */
export const checkAt = ({ checked }: Session, { authCheckInterval }: SignInTerms): number =>
  authCheckInterval > 0 ? checked + authCheckInterval * 1000 : Infinity

const purpose = ({ audience }: Guest): string => `sign-in session ${audience}`

/** The session in a client's cookies, expired or not. */
export function openSession(seal: Seal, guest: Guest): Session | undefined {
  const text = joinSession(guest.jar, guest.names)
  return text === undefined ? undefined : (seal.open(purpose(guest), text) as Session | undefined)
}

/**
 * The cookies for a session. Tokens too long for cookies are left out; if they are needed for a recheck, the session
 * ends when that is due.
 */
export function sessionCookies(seal: Seal, guest: Guest, session: Session, ttlMs: number): string[] {
  const { accessToken = '', refreshToken = '' } = session.granted
  const isLong = accessToken.length + refreshToken.length > MAX_TOKENS
  const kept = isLong ? { ...session, granted: withoutTokens(session.granted) } : session
  const text = seal.seal(purpose(guest), kept, ttlMs)
  return keepSession(text, guest.names, guest.jar, ttlMs / 1000)
}

export function withoutTokens({ identity, until }: Granted): Granted {
  return { identity, ...(until !== undefined && { until }) }
}
