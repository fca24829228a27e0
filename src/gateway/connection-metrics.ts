import type { ClientListeners } from '#gateway/client-listeners.ts'
import type { AgentListener } from '#gateway/listeners/agents.ts'
import { primaryOnly } from '#registry/agent-connections.ts'
import type { Directory } from '#registry/directory.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import type { SshListener } from '#ssh/listener.ts'
import type { GatewayMetrics } from '#telemetry/metrics.ts'

interface Listeners extends ClientListeners {
  readonly agent: AgentListener
  readonly ssh: SshListener | undefined
}

interface Counted {
  readonly directory: Directory
  readonly info: GatewayInfo
}

/** Exports what is connected to this process. */
export function countConnections(
  metrics: GatewayMetrics,
  { http, https, tcp, agent, ssh }: Listeners,
  { directory, info }: Counted,
): void {
  const { connections } = metrics
  const own = (records: ReadonlyMap<string, { readonly id: string; readonly node: string }>): number =>
    primaryOnly(records).filter(({ node }) => node === info.node).length
  connections.http.from(() => http.connections)
  connections.https.from(() => https.connections - https.streams)
  connections.tls.from(() => https.streams)
  connections.tcp.from(() => tcp.connections)
  connections.agent.from(() => agent.connections)
  if (ssh) connections.ssh.from(() => ssh.connections)
  metrics.agentSessions.from(() => own(directory.sessions))
  metrics.tunnelStreams.from(() => agent.streams + (ssh?.streams ?? 0))
  metrics.tunnels.from(() => own(directory.tunnels))
}
