import type { Log } from '#base/log.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import type { Records } from '#registry/records/records.ts'
import { centralHandler, centralHost, type CentralRoute } from '#auth/sign-in/central.ts'
import { Door } from '#auth/sign-in/door.ts'
import { Presence } from '#auth/sign-in/presence.ts'
import { Seal } from '#auth/sign-in/seal.ts'
import type { PlaceAt, SignIn } from '#auth/sign-in/sign-in.ts'
import type { Visitors } from '#auth/sign-in/visitors.ts'

export interface SignInOptions {
  readonly info: Pick<GatewayInfo, 'domain' | 'httpPort' | 'httpsPort'>
  /** 32 bytes, the same in all processes of an installation. */
  readonly key: Buffer
  readonly records: Records
  readonly visitors: Visitors
  readonly placeAt: PlaceAt
  readonly log: Log
  /** Other handlers on the central callback host. */
  readonly central?: readonly CentralRoute[]
  readonly now?: () => number
}

/** Sign-in for all places of a gateway. */
export function createSignIn(options: SignInOptions): SignIn {
  const { info, records, visitors, placeAt, log, central = [], now = Date.now } = options
  const seal = new Seal(options.key, { now })
  const shared = { seal, info, visitors, placeAt, log, now, presence: new Presence(records, now) }
  const host = centralHost(info)
  const answer = centralHandler({ seal, placeAt }, info, central)
  return {
    seal,
    handler(method, terms, moduleContext) {
      // Sessions must stay valid at the next tunnel of the same name.
      const lasting = { ...moduleContext, id: moduleContext.recordId ?? moduleContext.id }
      const door = new Door(shared, method, terms, lasting)
      return (exchange, next) => door.handle(exchange, next)
    },
    central: head => (head.host === host ? answer : undefined),
  }
}
