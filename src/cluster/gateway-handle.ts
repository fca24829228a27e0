import type { SharesPorts } from '#base/listen-on.ts'
import type { Log } from '#base/log.ts'
import type { GatewaySettings, Settings } from '#base/settings.ts'
import type { UserSessionStore } from '#auth/sign-in/user-session-store.ts'
import type { Cluster } from '#cluster/nodes/cluster.ts'
import type { NodeStatus } from '#cluster/process-status.ts'
import type { WorkerHost } from '#cluster/worker-host.ts'
import type { Gateway } from '#gateway/gateway.ts'
import type { GatewayKeys } from '#gateway/gateway-options.ts'
import type { TlsIdentity } from '#pki/local-authority.ts'
import type { Directory, SessionRecord } from '#registry/directory.ts'
import type { LiveView } from '#registry/live.ts'
import type { Records } from '#registry/records/records.ts'
import type { Source } from '#registry/records/source.ts'
import type { TrafficBatch } from '#telemetry/traffic-events.ts'
import type { SeriesUsage } from '#telemetry/usage/series-usage.ts'
import type { WantedTraffic } from '#telemetry/traffic/json-line-buffer.ts'

/** The gateway for the rest of the server, in however many processes it runs. */
export interface GatewayHandle {
  readonly live: LiveView
  readonly bound: Gateway['bound']
  /** The configuration, in memory. */
  readonly records: Records
  /** Connections of clients; null if that is not known. */
  clientConnections(): number | null
  metrics(): Promise<string>
  /** Applies new values of settings, in all processes. */
  reload(changes: Partial<GatewaySettings>): void
  /** The processes that serve clients; a hanging one is not awaited for long. */
  processes(): Promise<readonly NodeStatus[]>
  /** As those of a `Gateway`. */
  quiesce(deadlineMs: number): Promise<void>
  moveOut(deadlineMs: number): Promise<void>
  drain(deadlineMs: number): Promise<void>
}

/** Receives the traffic events of gateways, and says which are wanted. */
interface TrafficReports {
  readonly wanted: WantedTraffic
  /** Calls back at once, and whenever it changes. */
  onSubscriptionChange(follower: (wanted: WantedTraffic) => void): void
  /** Reports the agents that connect and disconnect; `reported` are those that were connected before. */
  watchSessions(directory: Pick<Directory, 'watch'>, reported?: Iterable<SessionRecord>): void
  publish(batch: TrafficBatch): void
}

/** Receives the usage that gateways count. */
interface UsageReports {
  add(usage: readonly SeriesUsage[]): void
}

/** The dependencies of a gateway, wherever it runs. */
export interface GatewayParts {
  readonly settings: Settings
  readonly version: string
  readonly source: Source
  /** Of the local authority. */
  readonly root: TlsIdentity
  readonly keys: GatewayKeys
  /** Where the API accepts requests of the gateway; undefined: only at its own address. */
  readonly apiSocket?: string | undefined
  readonly userSessions: UserSessionStore
  readonly traffic: TrafficReports
  readonly usage: UsageReports
  /** Called for every uncaught error of a worker process. */
  readonly uncaught: () => void
  readonly sharesPorts: SharesPorts
  /** The supervisor of this process; undefined: it has none, and starts its workers itself. */
  readonly workerHost?: WorkerHost | undefined
  /** Set if this server is a node of a cluster. */
  readonly cluster: Cluster | undefined
  readonly log: Log
}

/** A supervisor may have workers of an earlier first process, whatever the settings are now. */
export const hasWorkers = ({
  settings,
  workerHost,
}: Pick<GatewayParts, 'settings' | 'workerHost'>): boolean => settings.workers > 1 || workerHost !== undefined
