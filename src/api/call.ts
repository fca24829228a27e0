import type { Live } from '#api/live.ts'
import type { Sealer } from '#base/secrets.ts'
import type { Store } from '#store/store.ts'

/** Who makes a call. */
export interface Principal {
  readonly id: string
  readonly role: 'admin' | 'member'
  /** E-mail address of a user, name of a bot. */
  readonly subject: string
  readonly keyId: string
}

/** What the API needs to know about the server it describes. */
export interface Facts {
  readonly accountId: string
  readonly accountCreatedAt: string
  /** The shared base domain. */
  readonly domain: string
  readonly region: string
  /** Address under which visitors sign in, one for all endpoints. */
  readonly signInUrl: string
  /** TCP ports that edges and tunnels may use, and those that are handed out. */
  readonly tcpPorts: PortRange
  readonly randomTcpPorts: PortRange
  /** Why this server has no certificates issued; absent where it has. */
  readonly notIssuing?: string
}

export interface PortRange {
  readonly first: number
  readonly last: number
}

export interface Deps {
  readonly store: Store
  readonly live: Live
  readonly sealer: Sealer
  readonly facts: Facts
  readonly now: () => number
}

/** One call while it is carried out. */
export interface Call extends Deps {
  readonly principal: Principal
  /** The address under which the caller reaches the API, without a slash at the end. */
  readonly base: string
  readonly ip: string
}
