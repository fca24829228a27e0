import type { Log } from '#base/log.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import type { Presence } from '#auth/sign-in/presence.ts'
import type { Seal } from '#auth/sign-in/seal.ts'
import type { PlaceAt } from '#auth/sign-in/sign-in.ts'
import type { Visitors } from '#auth/sign-in/visitors.ts'

/** Common dependencies of all sign-in places. */
export interface Shared {
  readonly seal: Seal
  readonly info: Pick<GatewayInfo, 'domain' | 'httpPort' | 'httpsPort'>
  readonly presence: Presence
  readonly visitors: Visitors
  readonly placeAt: PlaceAt
  readonly log: Log
  readonly now: () => number
}
