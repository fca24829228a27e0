import type { Live } from '#api/live.ts'
import type { CheckedDomain } from '#contract/domain-check.ts'
import type { Sealer } from '#base/secrets.ts'
import type { Store } from '#store/store.ts'

/** The caller of a request. */
export interface Principal {
  readonly id: string
  readonly role: 'admin' | 'member'
  /** E-mail address of a user, name of a bot. */
  readonly subject: string
  /** The id of the API key or of the dashboard session. */
  readonly keyId: string
}

/** What the API needs to know about its server. */
interface ServerInfo {
  readonly accountId: string
  readonly accountCreatedAt: string
  /** The shared base domain. */
  readonly domain: string
  readonly region: string
  /** The sign-in URL, one for all endpoints. */
  readonly signInUrl: string
  /** TCP ports that edges and tunnels may use, and the assignable ones. */
  readonly tcpPorts: PortRange
  readonly randomTcpPorts: PortRange
  /** Headers and bodies of all requests are captured. */
  readonly fullCapture: boolean
  /** Why this server issues no certificates; absent if it does. */
  readonly notIssuing?: string
}

interface PortRange {
  readonly first: number
  readonly last: number
}

export interface Deps {
  readonly store: Store
  readonly live: Live
  readonly sealer: Sealer
  readonly info: ServerInfo
  readonly now: () => number
  /** Stores the usage that was counted in the last seconds, so that it can be read. */
  readonly refreshUsage: () => Promise<void>
  /** Looks up the DNS of a reserved domain. */
  readonly checkDomain: (id: string) => Promise<CheckedDomain>
}

/** One request in progress. */
export interface Call extends Deps {
  readonly principal: Principal
  /** The base URL under which the caller reaches the API, without a trailing slash. */
  readonly base: string
  readonly ip: string
}
