import type { Problem } from '#base/errors.ts'
import type { SessionRecord, TunnelRecord } from '#registry/directory.ts'
import type { AgentConnection } from '#registry/agent-dialer.ts'
import type { TunnelScheme } from '#ssh/command.ts'
import type { KeyRing } from '#ssh/sign-in.ts'

/** A tunnel requested with one -R. */
export interface TunnelRequest {
  readonly scheme: TunnelScheme
  /** A full name or one label; empty for a random one. */
  readonly host: string
  /** For tcp; 0 for a random one. */
  readonly port: number
  readonly labels: Readonly<Record<string, string>>
  readonly metadata: string
  readonly forwardsTo: string
  readonly basicAuth: readonly { readonly username: string; readonly password: string }[]
}

/** The gateway functions that the SSH listener uses. */
export interface SshDeps {
  readonly ring: KeyRing
  /** Why signing in from this address is not allowed, if so. */
  refusal(ip: string): Problem | undefined
  /** Rejects with a Problem whose message is shown. */
  add(record: SessionRecord, connection: AgentConnection): Promise<void>
  /** `lost`: the connection was lost, and the client may reconnect. */
  remove(sessionId: string, connection: AgentConnection, lost: boolean): Promise<void>
  bind(sessionId: string, request: TunnelRequest): Promise<TunnelRecord>
  /** The client knows the tunnel: connections may start. */
  markReady(sessionId: string, tunnelId: string): void
  unbind(sessionId: string, tunnelId: string): Promise<void>
}
