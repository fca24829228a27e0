import type { Log } from '#base/log.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import type { Records } from '#registry/records/records.ts'
import { callbackHandler, callbackHost, type CallbackRoute } from '#auth/sign-in/callback-host.ts'
import { SignInHandler } from '#auth/sign-in/sign-in-handler.ts'
import { SessionRevocation } from '#auth/sign-in/session-revocation.ts'
import { Seal } from '#auth/sign-in/seal.ts'
import type { RealmsAt, SignIn } from '#auth/sign-in/sign-in.ts'
import type { UserSessionStore } from '#auth/sign-in/user-session-store.ts'

interface SignInServiceOptions {
  readonly info: Pick<GatewayInfo, 'domain' | 'httpPort' | 'httpsPort'>
  /** 32 bytes, the same in all processes of an installation. */
  readonly key: Buffer
  readonly records: Records
  readonly userSessions: UserSessionStore
  readonly realmsAt: RealmsAt
  readonly log: Log
  /** Other handlers on the central callback host. */
  readonly callbackRoutes?: readonly CallbackRoute[]
  readonly now?: () => number
}

/** Sign-in for all realms of a gateway. */
export function createSignIn(options: SignInServiceOptions): SignIn {
  const { info, records, userSessions, realmsAt, log, callbackRoutes: central = [], now = Date.now } = options
  const seal = new Seal(options.key, { now })
  const shared = {
    seal,
    info,
    userSessions,
    realmsAt,
    log,
    now,
    revocation: new SessionRevocation(records, now),
  }
  const host = callbackHost(info)
  const answer = callbackHandler({ seal, realmsAt }, info, central)
  return {
    seal,
    handler(offers, moduleContext) {
      // Sessions must stay valid at the next tunnel of the same name.
      const lasting = { ...moduleContext, id: moduleContext.recordId ?? moduleContext.id }
      const handler = new SignInHandler(shared, offers, lasting)
      return (exchange, next) => handler.handle(exchange, next)
    },
    callbackHandler: head => (head.host === host ? answer : undefined),
  }
}
