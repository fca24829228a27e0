import type { BindOptions } from '#tunnel/messages.ts'

export type AgentCommand = 'restart' | 'stop' | 'update'

/** A connected agent, as known to every gateway process. Plain data, so that it can be sent between processes. */
export interface SessionRecord {
  /** `ts_...`, kept over reconnects of the same agent process. */
  readonly id: string
  /** The gateway process that holds the connection. */
  readonly node: string
  readonly credentialId: string
  readonly agentVersion: string
  readonly userAgent: string
  readonly ip: string
  /** The address the agent connected to, and the server name it requested, if any. */
  readonly localIp: string
  readonly serverName: string | undefined
  readonly metadata: string
  readonly os: string
  readonly arch: string
  readonly region: string
  readonly startedAt: string
  readonly transport: 'adit/v2' | 'ssh'
}

/** The address of a tunnel; held by one tunnel, or by those of a pool together. */
export type EndpointAddress =
  /** HTTP listener names and TLS by SNI. http and https of one name are two addresses of one owner. */
  | { readonly scheme: 'http' | 'https' | 'tls'; readonly host: string }
  | { readonly scheme: 'tcp'; readonly host: string; readonly port: number }

export interface TunnelRecord {
  /** `tn_...` */
  readonly id: string
  readonly sessionId: string
  /** The user or bot that owns the credential of the session. */
  readonly ownerId: string
  readonly node: string
  /** Undefined for a labelled tunnel, which is reached through a tunnel-group backend. */
  readonly address: EndpointAddress | undefined
  /** As people write it; empty for a labelled tunnel. */
  readonly url: string
  readonly labels: Readonly<Record<string, string>>
  readonly forwardsTo: string
  /** The upstream protocol. */
  readonly forwardsProto: 'http1' | 'http2'
  readonly metadata: string
  readonly startedAt: string
  /** The reservations it uses, if any. */
  readonly domainId: string | undefined
  readonly addrId: string | undefined
  /** It shares its address with other tunnels of its owner that request the same. */
  readonly pooling: boolean
  readonly options: BindOptions
}

/**
 * Why a tunnel cannot have its address: another tunnel holds it, another user has the name in another scheme, or the
 * pool has other options.
 */
export type Conflict = 'taken' | 'other_owner' | 'pool_options'

export type Added =
  { readonly ok: true } | { readonly ok: false; readonly holder: TunnelRecord; readonly conflict: Conflict }

export interface DirectoryListener {
  /** `isReplaced`: a session with its id was known. */
  sessionAdded?(session: SessionRecord, isReplaced: boolean): void
  /** `error` is why it was removed; undefined when it closed normally. */
  sessionRemoved?(session: SessionRecord, error: string | undefined): void
  added?(tunnel: TunnelRecord): void
  /** `lost`: its connection was lost, so its agent may reconnect. */
  removed?(tunnel: TunnelRecord, lost: boolean): void
}

/** How a session ended. */
export interface SessionEnd {
  /** Undefined for a normal end. */
  readonly error?: string | undefined
  /** Its connection was lost, so the agent may reconnect. */
  readonly lost: boolean
}

/** The online state of all gateway processes; each process has a full copy in memory. */
export interface Directory {
  readonly sessions: ReadonlyMap<string, SessionRecord>
  readonly tunnels: ReadonlyMap<string, TunnelRecord>
  /** A record with the same id is replaced. */
  addSession(record: SessionRecord): Promise<void>
  /** Removes its tunnels too. What the agent has meanwhile at another process stays. */
  removeSession(id: string, node: string, end?: SessionEnd): Promise<void>
  /**
   * Adds a tunnel and claims its address; rejected while another tunnel holds it, unless both are in one pool. The same
   * id is replaced.
   */
  addTunnel(record: TunnelRecord): Promise<Added>
  removeTunnel(id: string): Promise<void>
  /** Reports every change from now on; returns how to stop it. */
  watch(listener: DirectoryListener): () => void
}
