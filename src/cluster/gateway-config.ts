import type { Range } from '#base/addresses.ts'
import type { Settings } from '#base/settings.ts'
import { oauthSetup } from '#auth/providers/setup.ts'
import type { GatewayParts } from '#cluster/gateway-handle.ts'
import { randomPorts } from '#cluster/ports.ts'
import type { GatewayOptions } from '#gateway/gateway-options.ts'
import type { TlsIdentity } from '#pki/local-authority.ts'
import { tracingSetup } from '#telemetry/tracing/setup.ts'
import type { TracingSetup } from '#telemetry/tracing/tracing.ts'

/** What a gateway process starts from: data only, so that it can be sent to a worker. */
export interface GatewayConfig extends Pick<
  GatewayOptions,
  'info' | 'addresses' | 'publicPorts' | 'limits' | 'keys' | 'oauth'
> {
  /** Of the local authority. */
  readonly root: TlsIdentity
  readonly fastReads: boolean
  readonly egressAllow: readonly Range[]
  readonly requests: { readonly size: number; readonly accessLog: string | undefined }
  readonly tracing: TracingSetup | undefined
  /** Names whose agents are expected back. */
  readonly recentNames: readonly string[]
}

/** How the processes of an installation differ. */
export interface GatewayProcess {
  readonly node: string
  readonly recentNames: readonly string[]
}

export function gatewayConfig(
  { settings, version, root, keys }: Pick<GatewayParts, 'settings' | 'version' | 'root' | 'keys'>,
  { node, recentNames }: GatewayProcess,
): GatewayConfig {
  return {
    info: infoOf(settings, node, version),
    addresses: {
      http: settings.http_addr,
      https: settings.https_addr,
      agent: settings.agent_addr,
      ssh: settings.ssh_addr,
    },
    publicPorts: { http: settings.public_http_port, https: settings.public_https_port },
    limits: limitsOf(settings),
    keys,
    root,
    oauth: oauthSetup(settings),
    fastReads: settings.fast_reads,
    egressAllow: settings.egress_allow ?? [],
    requests: { size: settings.kept_requests, accessLog: settings.access_log },
    tracing: tracingSetup(settings),
    recentNames,
  }
}

export const infoOf = (settings: Settings, node: string, version: string): GatewayConfig['info'] => ({
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
})

const limitsOf = (settings: Settings): GatewayConfig['limits'] => ({
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
})
