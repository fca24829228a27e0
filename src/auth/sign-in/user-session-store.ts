import type { ModuleContext } from '#http/module-context.ts'
import type { Claimed, CodeClaim } from '#auth/sign-in/code-claims.ts'
import type { SignInMethod } from '#auth/sign-in/sign-in.ts'
import type { UserIdentity } from '#http/identity.ts'

/** A completed sign-in. */
export interface SignedInUser {
  readonly identity: UserIdentity
  readonly provider: SignInMethod['provider']
  readonly moduleContext: ModuleContext
  /** Of the endpoint, as in its public URL. */
  readonly publicUrl: string
  readonly ip: string
  readonly userAgent: string
  /** In milliseconds, as all times here. */
  readonly expiresAt: number
}

/** Records users and their sessions, for the API to show and delete. */
export interface UserSessionStore {
  /** Resolves when both are written; rejects when they cannot be. */
  signedIn(signedIn: SignedInUser): Promise<{ readonly userId: string; readonly sessionId: string }>
  /** A session was used; recorded at most once a minute by each process. */
  active(sessionId: string, expiresAt: number): void
  ended(sessionId: string): Promise<void>
  /** Claims a code of one realm, over all processes of the server. */
  claimCode(claim: CodeClaim): Promise<Claimed>
}
