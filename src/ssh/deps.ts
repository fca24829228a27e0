import type { Problem } from '#base/errors.ts'
import type { SessionRecord, TunnelRecord } from '#registry/directory.ts'
import type { Connection } from '#registry/fleet.ts'
import type { Scheme } from '#ssh/command.ts'
import type { KeyRing } from '#ssh/sign-in.ts'

/** A tunnel that somebody asks for with one -R. */
export interface Wish {
  readonly scheme: Scheme
  /** A whole name or one label; empty for a random one. */
  readonly host: string
  /** For tcp; 0 for a random one. */
  readonly port: number
  readonly labels: Readonly<Record<string, string>>
  readonly metadata: string
  readonly forwardsTo: string
  readonly basicAuth: readonly { readonly username: string; readonly password: string }[]
}

/** What the SSH listener needs of the rest of the gateway. */
export interface SshDeps {
  readonly ring: KeyRing
  /** Why nobody may sign in from this address, if so. */
  refusal(ip: string): Problem | undefined
  /** Rejects with a Problem whose sentence is shown. */
  add(record: SessionRecord, connection: Connection): Promise<void>
  /** `lost`: the connection broke, and the client may come back. */
  remove(sessionId: string, connection: Connection, lost: boolean): Promise<void>
  bind(sessionId: string, wish: Wish): Promise<TunnelRecord>
  /** The client knows of the tunnel: visitors may come. */
  release(sessionId: string, tunnelId: string): void
  unbind(sessionId: string, tunnelId: string): Promise<void>
}
