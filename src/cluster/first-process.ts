import type { SharesPorts } from '#base/listen-on.ts'
import type { Log } from '#base/log.ts'
import type { UserSessionStore } from '#auth/sign-in/user-session-store.ts'
import type { AgentRegistry } from '#gateway/agents/agent-registry.ts'
import type { AgentDialer } from '#registry/agent-dialer.ts'
import type { Directory } from '#registry/directory.ts'
import type { OtherNodes } from '#registry/other-nodes.ts'
import type { Source } from '#registry/records/source.ts'
import type { PublishUsage } from '#telemetry/usage/usage-counter.ts'
import type { PublishTraffic } from '#telemetry/traffic-events.ts'
import type { WantedTraffic } from '#telemetry/traffic/json-line-buffer.ts'

/** The first process as a gateway needs it: the same process, or the parent of a worker. */
export interface FirstProcess {
  readonly source: Source
  readonly directory: Directory
  readonly userSessions: UserSessionStore
  readonly log: Log
  readonly sharesPorts: SharesPorts
  readonly publishTraffic: PublishTraffic
  readonly publishUsage: PublishUsage
  /** Undefined: there is no cluster. */
  readonly otherNodes: OtherNodes | undefined
  /** Calls back at once, and whenever it changes. */
  onSubscriptionChange(follower: (wanted: WantedTraffic) => void): void
  /** Reaches the agents of other processes too, given those of this one; undefined: there are no others. */
  readonly connectPeers: ((local: AgentRegistry) => Promise<AgentDialer>) | undefined
}
