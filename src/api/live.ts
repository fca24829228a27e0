import type { ResourceBody } from '#contract/body.ts'
import type { onlineKinds } from '#contract/kinds/live.ts'
import type { Change } from '#contract/streams.ts'
import type { ExplainedRequest, RequestToExplain } from '#contract/route-explanation.ts'

export type LiveKind =
  (typeof onlineKinds)[number] | 'request' | 'audit_event' | 'event_delivery' | 'node' | 'dns_zone'
export type LiveCommand = 'restart' | 'stop' | 'update' | 'replay' | 'test' | 'drain'

export interface LivePage {
  readonly before?: string
  readonly limit: number
  readonly filters?: Readonly<Record<string, string>>
}

export interface TunnelSelector {
  readonly labels: Readonly<Record<string, string>>
  readonly ownerId: string
}

export interface LiveList extends Array<ResourceBody> {
  /** Set when not all rows were examined: the next page begins after this id. */
  last?: string
}

/** Takes requests as they end. */
export interface LiveRequestWatcher {
  seen(request: ResourceBody): void
  /** So many could not be reported in time. */
  dropped(count: number): void
}

/** The captured headers and bodies of a request. */
export interface LiveCapture {
  /** The owner of its endpoint; empty if members share it. */
  readonly ownerId: string
  readonly capture: ResourceBody
}

/** A request to send again; what is absent stays as captured. */
export interface LiveReplay {
  readonly id: string
  readonly ip: string
  readonly via: 'edge' | 'agent'
  /** Another endpoint, as clients address it. */
  readonly endpoint?: { readonly scheme: 'http' | 'https'; readonly authority: string } | undefined
  /** One tunnel, whatever endpoint it belongs to. */
  readonly tunnelId?: string | undefined
  /** The member who sends it, only to own endpoints; absent for admins. */
  readonly memberId?: string | undefined
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly headers: readonly { readonly name: string; readonly value: string | null }[]
  readonly body?: Uint8Array | undefined
  /** The webhook verification of its route signs it. */
  readonly resign: boolean
}

/**
 * Online state and history, implemented by the gateway and event delivery. Resources come without `uri`; a Ref in them
 * is the id and the path of its target.
 */
export interface Live {
  get(kind: LiveKind, id: string): Promise<ResourceBody | undefined>
  /** Newest first, ids smaller than `before`. */
  list(kind: LiveKind, page: LivePage): Promise<LiveList>
  /** Ids of the online tunnels of an owner, or of all if it is empty, with all of these labels. */
  tunnelsOf(group: TunnelSelector): Promise<string[]>
  /** The owner of online tunnels at any of these names. */
  nameOwners(names: readonly string[]): Promise<string[]>
  /** Reports each request that has ended and passes the filters; returns how to stop. */
  watchRequests(filters: Readonly<Record<string, string>>, watcher: LiveRequestWatcher): () => void
  /** Reports agents, tunnels and endpoints as they go online and offline, at any node; returns how to stop. */
  watchOnline(seen: (change: Change) => void): () => void
  /** What would handle a request; nothing is sent. */
  explain(request: RequestToExplain): Promise<ExplainedRequest>
  /** Undefined if the request was not captured, or its capture was evicted. */
  capture(id: string): Promise<LiveCapture | undefined>
  /** Sends a captured request again; the capture of the new one, or undefined as above. */
  replay(order: LiveReplay): Promise<LiveCapture | undefined>
  /** Resolves when the agent or destination has accepted the command; rejects with a Problem otherwise. */
  command(id: string, command: LiveCommand): Promise<void>
}
