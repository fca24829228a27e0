import type { Log } from '#base/log.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import type { SessionRevocation } from '#auth/sign-in/session-revocation.ts'
import type { Seal } from '#auth/sign-in/seal.ts'
import type { RealmsAt } from '#auth/sign-in/sign-in.ts'
import type { UserSessionStore } from '#auth/sign-in/user-session-store.ts'

/** Common dependencies of all sign-in realms. */
export interface Shared {
  readonly seal: Seal
  readonly info: Pick<GatewayInfo, 'domain' | 'httpPort' | 'httpsPort'>
  readonly revocation: SessionRevocation
  readonly userSessions: UserSessionStore
  readonly realmsAt: RealmsAt
  readonly log: Log
  readonly now: () => number
}
