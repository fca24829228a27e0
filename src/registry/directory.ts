import type { BindOptions } from '#tunnel/messages.ts'

export type Command = 'restart' | 'stop' | 'update'

/** An agent that is connected, as every gateway knows it. Plain data: it travels between processes. */
export interface SessionRecord {
  /** `ts_...`, kept over reconnects of the same agent process. */
  readonly id: string
  /** The gateway process that holds the connection. */
  readonly node: string
  readonly credentialId: string
  readonly agentVersion: string
  readonly userAgent: string
  readonly ip: string
  /** Where the agent has connected to: our address, and the name that it asked for if it did. */
  readonly localIp: string
  readonly serverName: string | undefined
  readonly metadata: string
  readonly os: string
  readonly arch: string
  readonly region: string
  readonly startedAt: string
  readonly transport: 'adit/v2' | 'ssh'
}

/** What a tunnel answers for; one tunnel holds an address, or those of a pool together. */
export type Address =
  /** Names of the HTTP listeners and of TLS by SNI. http and https of one name are two addresses of one owner. */
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
  readonly address: Address | undefined
  /** As people type it; empty for a labelled tunnel. */
  readonly url: string
  readonly labels: Readonly<Record<string, string>>
  readonly forwardsTo: string
  /** What the upstream speaks. */
  readonly forwardsProto: 'http1' | 'http2'
  readonly metadata: string
  readonly startedAt: string
  /** The reservations it uses, if any. */
  readonly domainId: string | undefined
  readonly addrId: string | undefined
  /** It shares its address with other tunnels of its owner that say so too. */
  readonly pooling: boolean
  readonly options: BindOptions
}

/**
 * Why a tunnel cannot have its address: another one has it, another user has the name in another scheme, or the pool
 * there has other options.
 */
export type Conflict = 'taken' | 'other_owner' | 'pool_options'

export type Added =
  { readonly ok: true } | { readonly ok: false; readonly holder: TunnelRecord; readonly conflict: Conflict }

export interface DirectoryListener {
  sessionAdded?(session: SessionRecord): void
  /** `error` tells why it had to go; undefined when it went by itself. */
  sessionRemoved?(session: SessionRecord, error: string | undefined): void
  added?(tunnel: TunnelRecord): void
  /** `lost`: its connection broke, so that its agent may come back for it. */
  removed?(tunnel: TunnelRecord, lost: boolean): void
}

/** How a session ended. */
export interface SessionEnd {
  /** Undefined when it ended in good order. */
  readonly error?: string | undefined
  /** Its connection broke, so that the agent may come back. */
  readonly lost: boolean
}

/** All that is online, on every gateway process; each keeps the whole of it in memory. */
export interface Directory {
  readonly sessions: ReadonlyMap<string, SessionRecord>
  readonly tunnels: ReadonlyMap<string, TunnelRecord>
  /** A record with the same id is replaced. */
  addSession(record: SessionRecord): Promise<void>
  /** Takes its tunnels with it. Nothing happens to what the agent has meanwhile at another process. */
  removeSession(id: string, node: string, end?: SessionEnd): Promise<void>
  /** Lists a tunnel and takes its address; refused while another tunnel holds that, unless both are of one pool. The same id is replaced. */
  addTunnel(record: TunnelRecord): Promise<Added>
  removeTunnel(id: string): Promise<void>
  /** Tells of every change from now on; returns how to stop it. */
  watch(listener: DirectoryListener): () => void
}
