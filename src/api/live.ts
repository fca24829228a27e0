import type { Body } from '#contract/body.ts'

export type LiveKind = 'tunnel_session' | 'tunnel' | 'endpoint' | 'request' | 'audit_event' | 'event_delivery'
export type Command = 'restart' | 'stop' | 'update' | 'replay' | 'test'

export interface LivePage {
  readonly before?: string
  readonly limit: number
  readonly filters?: Readonly<Record<string, string>>
}

export interface TunnelGroup {
  readonly labels: Readonly<Record<string, string>>
  readonly ownerId: string
}

export interface Found extends Array<Body> {
  /** Set when not all that there is was looked at: the next page begins behind this id. */
  last?: string
}

/**
 * What is online now, and what has happened. The gateway and the delivery of events implement it. Resources come without `uri`; a Ref in them is given as the id
 * and the path of what it names.
 */
export interface Live {
  get(kind: LiveKind, id: string): Promise<Body | undefined>
  /** Newest first, ids smaller than `before`. */
  list(kind: LiveKind, page: LivePage): Promise<Found>
  /** Ids of the online tunnels of an owner, or of all where it is empty, that carry all of these labels. */
  tunnelsOf(group: TunnelGroup): Promise<string[]>
  /** Who has tunnels online at any of these names. */
  nameOwners(names: readonly string[]): Promise<string[]>
  /** Resolves when the agent or destination has accepted the command; rejects with a Problem otherwise. */
  command(id: string, command: Command): Promise<void>
}
