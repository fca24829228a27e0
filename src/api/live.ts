import type { ResourceBody } from '#contract/body.ts'
import type { onlineKinds } from '#contract/kinds/live.ts'
import type { CaptureRecord, ReplayOrder, RequestWatcher } from '#contract/request-history.ts'
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

interface TunnelSelector {
  readonly labels: Readonly<Record<string, string>>
  readonly ownerId: string
}

export interface LiveList extends Array<ResourceBody> {
  /** Set when not all rows were examined: the next page begins after this id. */
  last?: string
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
  watchRequests(filters: Readonly<Record<string, string>>, watcher: RequestWatcher): () => void
  /** Reports agents, tunnels and endpoints as they go online and offline, at any node; returns how to stop. */
  watchOnline(seen: (change: Change) => void): () => void
  /** What would handle a request; nothing is sent. */
  explain(request: RequestToExplain): Promise<ExplainedRequest>
  /** Undefined if the request was not captured, or its capture was evicted. */
  capture(id: string): Promise<CaptureRecord | undefined>
  /** Sends a captured request again; the capture of the new one, or undefined as above. */
  replay(order: ReplayOrder): Promise<CaptureRecord | undefined>
  /** What is known of the link of an agent; undefined if it is not connected. */
  agentLink(id: string): Promise<ResourceBody | undefined>
  /** Resolves when the agent or destination has accepted the command; rejects with a Problem otherwise. */
  command(id: string, command: LiveCommand): Promise<void>
}
