import { createEgress } from '#base/egress-client.ts'
import { renderMetrics } from '#base/metrics-text.ts'
import { type SharesPorts, cannotListen } from '#base/listen-on.ts'
import type { Log } from '#base/log.ts'
import type { Settings } from '#base/settings.ts'
import {
  ListenError,
  startGateway,
  type Gateway,
  type GatewayKeys,
  type GatewayOptions,
  type ListenerName,
} from '#gateway/gateway.ts'
import { LiveView, type RequestHistory } from '#registry/live.ts'
import { LocalDirectory } from '#registry/local-directory.ts'
import type { Directory } from '#registry/directory.ts'
import type { Source } from '#registry/records/source.ts'
import { oauthSetup } from '#auth/providers/setup.ts'
import type { RequestLog } from '#telemetry/request-log/request-log.ts'
import type { WantedTraffic } from '#telemetry/traffic/json-line-buffer.ts'
import { TrafficEvents, type TrafficBatch } from '#telemetry/traffic-events.ts'
import type { UserSessionStore } from '#auth/sign-in/user-session-store.ts'
import { openAccessLog } from '#telemetry/request-log/access-log.ts'
import { namesBefore, OnlineNamesFile } from '#cluster/online-names.ts'
import { randomPorts } from '#cluster/ports.ts'
import { tracingParts, tracingSetup } from '#telemetry/tracing/setup.ts'
import { usePlainReads } from '#tunnel/socket-reads.ts'
import { LocalAuthority, type TlsIdentity } from '#pki/local-authority.ts'

/** The gateway for the rest of the server, in however many processes it runs. */
export interface GatewayHandle {
  readonly live: LiveView
  readonly bound: Gateway['bound']
  metrics(): Promise<string>
  /** As those of a `Gateway`. */
  quiesce(deadlineMs: number): Promise<void>
  moveOut(deadlineMs: number): Promise<void>
  drain(deadlineMs: number): Promise<void>
}

/** Receives the traffic events of gateways, and says which are wanted. */
export interface TrafficReports {
  readonly wanted: WantedTraffic
  /** Calls back at once, and whenever it changes. */
  onSubscriptionChange(follower: (wanted: WantedTraffic) => void): void
  /** Reports the agents that connect and disconnect. */
  watchSessions(directory: Directory): void
  publish(batch: TrafficBatch): void
}

/** The dependencies of a gateway, wherever it runs. */
export interface GatewayParts {
  readonly settings: Settings
  readonly version: string
  readonly source: Source
  /** Of the local authority. */
  readonly root: TlsIdentity
  readonly keys: GatewayKeys
  readonly userSessions: UserSessionStore
  readonly traffic: TrafficReports
  /** Called for every uncaught error of a worker process. */
  readonly uncaught: () => void
  readonly sharesPorts: SharesPorts
  readonly log: Log
}

/** The options that follow from the settings. */
export function gatewayOptions(
  settings: Settings,
  { node, version }: { readonly node: string; readonly version: string },
): Pick<GatewayOptions, 'info' | 'addresses' | 'publicPorts' | 'limits'> {
  return {
    limits: {
      credential: {
        sessions: settings.credential_sessions,
        tunnels: settings.credential_tunnels,
        tcpPorts: settings.credential_tcp_ports,
        metadataKib: settings.credential_metadata_kib,
      },
      owner: {
        sessions: settings.owner_sessions,
        tunnels: settings.owner_tunnels,
        tcpPorts: settings.owner_tcp_ports,
        metadataKib: settings.owner_metadata_kib,
      },
    },
    info: {
      node,
      processes: settings.workers,
      version,
      domain: settings.domain,
      isolatesHosts: settings.isolate_hosts,
      reconnectWaitMs: settings.reconnect_wait * 1000,
      region: settings.region,
      tcpPorts: settings.tcp_ports,
      randomTcpPorts: randomPorts(settings),
      tcpHost: settings.tcp_host,
    },
    addresses: {
      http: settings.http_addr,
      https: settings.https_addr,
      agent: settings.agent_addr,
      ssh: settings.ssh_addr,
    },
    publicPorts: { http: settings.public_http_port, https: settings.public_https_port },
  }
}

const variables: Readonly<Record<ListenerName, string>> = {
  http: 'ADIT_HTTP_ADDR',
  https: 'ADIT_HTTPS_ADDR',
  agent: 'ADIT_AGENT_ADDR',
  ssh: 'ADIT_SSH_ADDR',
}

/** Why a gateway cannot start, as a sentence for the operator if possible. */
export const startProblem = (error: unknown): unknown =>
  error instanceof ListenError ? cannotListen(error.cause, error.address, variables[error.listener]) : error

/** The requests of a gateway in this process. */
const ownHistory = (requests: RequestLog): RequestHistory => ({
  find: async id => requests.find(id),
  list: async page => requests.list(page),
})

/** A gateway in this process. */
export async function startInProcess(parts: GatewayParts): Promise<GatewayHandle> {
  const { settings, version, source, root, keys, userSessions, sharesPorts, log } = parts
  usePlainReads(!settings.fast_reads)
  const directory = new LocalDirectory(log)
  const recentNames = namesBefore(settings.data_dir)
  const names = new OnlineNamesFile(settings.data_dir, directory, log)
  const traffic = new TrafficEvents(batch => parts.traffic.publish(batch), log)
  parts.traffic.onSubscriptionChange(wanted => traffic.subscribe(wanted))
  parts.traffic.watchSessions(directory)
  const gateway = await startGateway({
    ...gatewayOptions(settings, { node: 'main', version }),
    source,
    directory,
    authority: await LocalAuthority.open(root),
    keys,
    egress: createEgress({ allow: settings.egress_allow ?? [] }),
    oauth: oauthSetup(settings),
    userSessions,
    traffic,
    recentNames,
    tracing: tracingParts(tracingSetup(settings)),
    requests: { size: settings.kept_requests, write: openAccessLog(settings.access_log, log) },
    log,
    sharesPorts,
  }).catch((error: unknown) => {
    throw startProblem(error)
  })
  const { info, records, registry, bound, metrics, requests } = gateway
  return {
    live: new LiveView({ info, directory, records, dialer: registry, requests: ownHistory(requests) }),
    bound,
    metrics: async () => renderMetrics(metrics.registry.snapshot()),
    quiesce: deadlineMs => gateway.quiesce(deadlineMs),
    moveOut: deadlineMs => gateway.moveOut(deadlineMs),
    async drain(deadlineMs) {
      await names.close()
      await gateway.drain(deadlineMs)
    },
  }
}
