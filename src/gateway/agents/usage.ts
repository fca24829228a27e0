import { fail } from '#base/errors.ts'
import type { GatewaySettings } from '#base/settings.ts'
import type { Directory, SessionRecord, TunnelRecord } from '#registry/directory.ts'
import { baseId, connectionNumber } from '#registry/agent-connections.ts'

const KIB = 1024

/** Limits on what one credential or one owner may have online. */
export interface Share {
  readonly sessions: number
  readonly tunnels: number
  readonly tcpPorts: number
  readonly metadataKib: number
}

export interface UsageLimits {
  readonly credential: Share
  readonly owner: Share
}

/** The limits that the operator has set; they follow the settings, which a reload may change. */
export const usageLimits = (settings: GatewaySettings): UsageLimits => ({
  get credential() {
    return {
      sessions: settings.credential_sessions,
      tunnels: settings.credential_tunnels,
      tcpPorts: settings.credential_tcp_ports,
      metadataKib: settings.credential_metadata_kib,
    }
  },
  get owner() {
    return {
      sessions: settings.owner_sessions,
      tunnels: settings.owner_tunnels,
      tcpPorts: settings.owner_tcp_ports,
      metadataKib: settings.owner_metadata_kib,
    }
  },
})

/** The credential and the owner of an item: it counts for both. */
export interface UsageHolder {
  readonly credentialId: string
  readonly ownerId: string
}

/** The cost of an item. */
export type Amount = Readonly<Record<'sessions' | 'tunnels' | 'tcpPorts' | 'bytes', number>>

const nothing: Amount = { sessions: 0, tunnels: 0, tcpPorts: 0, bytes: 0 }
const size = (text: string): number => Buffer.byteLength(text)

export const ofSession = ({ metadata }: Pick<SessionRecord, 'metadata'>): Amount => ({
  ...nothing,
  sessions: 1,
  bytes: size(metadata),
})

type Described = Pick<TunnelRecord, 'metadata' | 'labels' | 'forwardsTo'>

export const ofTunnel = (tunnel: Described, isTcp: boolean): Amount => ({
  ...nothing,
  tunnels: 1,
  tcpPorts: isTcp ? 1 : 0,
  bytes: size(tunnel.metadata) + size(tunnel.forwardsTo) + size(JSON.stringify(tunnel.labels)),
})

/** There are as many as sessions and tunnels together, so each is one object. */
interface Item extends UsageHolder, Amount {
  /** A bit for each connection of the agent through which it is online. */
  connections: number
}

type Used = Map<string, Record<keyof Amount, number>>

interface UsageOptions {
  readonly directory: Directory
  readonly limits: UsageLimits
  readonly ownerOf: (session: SessionRecord) => string
  /** Additional limit on an owner's TCP ports, so that some are left for others. */
  readonly portShare: (ownerId: string) => number
}

/** Counts what each credential and each owner has online in all processes, and what is being opened here. */
export class Usage {
  readonly #options: UsageOptions
  readonly #items = new Map<string, Item>()
  readonly #byCredential: Used = new Map()
  readonly #byOwner: Used = new Map()
  readonly #stop: () => void

  constructor(options: UsageOptions) {
    this.#options = options
    const { directory } = options
    for (const session of directory.sessions.values()) this.#addSession(session)
    for (const tunnel of directory.tunnels.values()) this.#addTunnel(tunnel)
    this.#stop = directory.watch({
      sessionAdded: session => this.#addSession(session),
      sessionRemoved: ({ id }) => this.#remove(id),
      added: tunnel => this.#addTunnel(tunnel),
      removed: ({ id }) => this.#remove(id),
    })
  }

  close(): void {
    this.#stop()
  }

  /** Reserves a share for an item about to be added; rejects if none is left. Returns how to release it. */
  take(holder: UsageHolder, amount: Amount): () => void {
    this.#require(holder, amount)
    this.#change(holder, amount, 1)
    return () => this.#change(holder, amount, -1)
  }

  #require({ credentialId, ownerId }: UsageHolder, amount: Amount): void {
    const { limits, portShare } = this.#options
    const ports = amount.tcpPorts > 0 ? portShare(ownerId) : Infinity
    const both = [
      {
        who: 'A credential',
        setting: 'ADIT_CREDENTIAL',
        used: this.#byCredential.get(credentialId),
        share: limits.credential,
      },
      { who: 'A user', setting: 'ADIT_OWNER', used: this.#byOwner.get(ownerId), share: limits.owner },
    ]
    for (const { who, setting, used = nothing, share } of both) {
      const refuse = (limit: number, what: string, name: string): never =>
        fail('usage_limit', { who, limit, what, setting: `${setting}_${name}` })
      if (over(used, amount, 'sessions', share.sessions)) refuse(share.sessions, 'agent sessions', 'SESSIONS')
      if (over(used, amount, 'tunnels', share.tunnels)) refuse(share.tunnels, 'tunnels', 'TUNNELS')
      if (over(used, amount, 'tcpPorts', share.tcpPorts)) refuse(share.tcpPorts, 'TCP ports', 'TCP_PORTS')
      if (over(used, amount, 'tcpPorts', ports)) fail('port_share', { limit: ports })
      if (over(used, amount, 'bytes', share.metadataKib * KIB))
        refuse(share.metadataKib, 'KiB of metadata and labels', 'METADATA_KIB')
    }
  }

  #addSession(session: SessionRecord): void {
    const ownerId = this.#options.ownerOf(session)
    this.#add(session.id, { credentialId: session.credentialId, ownerId }, ofSession(session))
  }

  #addTunnel(tunnel: TunnelRecord): void {
    const { id, sessionId, ownerId, address } = tunnel
    const credentialId = this.#options.directory.sessions.get(sessionId)?.credentialId ?? ''
    this.#add(id, { credentialId, ownerId }, ofTunnel(tunnel, address?.scheme === 'tcp'))
  }

  /** Further connections of an agent are the same item. */
  #add(id: string, { credentialId, ownerId }: UsageHolder, amount: Amount): void {
    const base = baseId(id)
    const known = this.#items.get(base)
    if (known !== undefined) {
      known.connections |= bitOf(id)
      return
    }
    const { sessions, tunnels, tcpPorts, bytes } = amount
    const item = { credentialId, ownerId, sessions, tunnels, tcpPorts, bytes, connections: bitOf(id) }
    this.#items.set(base, item)
    this.#change(item, item, 1)
  }

  #remove(id: string): void {
    const base = baseId(id)
    const item = this.#items.get(base)
    if (item === undefined) return
    item.connections &= ~bitOf(id)
    if (item.connections !== 0) return
    this.#items.delete(base)
    this.#change(item, item, -1)
  }

  #change({ credentialId, ownerId }: UsageHolder, amount: Amount, sign: 1 | -1): void {
    change(this.#byCredential, credentialId, amount, sign)
    change(this.#byOwner, ownerId, amount, sign)
  }
}

function change(all: Used, id: string, amount: Amount, sign: 1 | -1): void {
  const used = all.get(id) ?? { ...nothing }
  used.sessions += sign * amount.sessions
  used.tunnels += sign * amount.tunnels
  used.tcpPorts += sign * amount.tcpPorts
  used.bytes += sign * amount.bytes
  if (used.sessions + used.tunnels + used.bytes === 0) all.delete(id)
  else all.set(id, used)
}

/** An agent has few connections. */
const bitOf = (id: string): number => 1 << connectionNumber(id)

const over = (used: Amount, amount: Amount, what: keyof Amount, limit: number): boolean =>
  amount[what] > 0 && used[what] + amount[what] > limit
