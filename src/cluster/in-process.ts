import { renderMetrics } from '#base/metrics-text.ts'
import { composeGateway } from '#cluster/compose-gateway.ts'
import type { FirstProcess } from '#cluster/first-process.ts'
import { gatewayConfig } from '#cluster/gateway-config.ts'
import type { Cluster } from '#cluster/nodes/cluster.ts'
import { clusterRequests, peerMethods } from '#cluster/nodes/cluster-requests.ts'
import type { GatewayHandle, GatewayParts } from '#cluster/gateway-handle.ts'
import { ownSessions } from '#cluster/own-sessions.ts'
import { namesBefore, OnlineNamesFile } from '#cluster/online-names.ts'
import type { Gateway } from '#gateway/gateway.ts'
import { processReport } from '#cluster/process-status.ts'
import type { Directory } from '#registry/directory.ts'
import { LiveView } from '#registry/live.ts'
import type { RequestHistory } from '#contract/request-history.ts'
import { LocalDirectory } from '#registry/local-directory.ts'

/** This process is the first one, and the only one. */
function thisProcess(
  { source, userSessions, log, sharesPorts, traffic, usage }: GatewayParts,
  { directory, cluster }: { readonly directory: Directory; readonly cluster: Cluster | undefined },
): FirstProcess {
  return {
    source,
    directory,
    userSessions,
    log,
    sharesPorts,
    publishTraffic: batch => traffic.publish(batch),
    publishUsage: counted => usage.add(counted),
    onSubscriptionChange: follower => traffic.onSubscriptionChange(follower),
    connectPeers: cluster?.peers.connect,
    otherNodes: cluster?.otherNodes,
  }
}

/** The requests of a gateway in this process. */
const ownHistory = ({
  requests,
  captures,
  replays,
}: Pick<Gateway, 'requests' | 'captures' | 'replays'>): RequestHistory => ({
  find: async id => requests.find(id),
  list: async page => requests.list(page),
  watch: (filters, watcher) => requests.watch(filters, watcher),
  capture: async id => captures.find(id),
  replay: order => replays.run(order),
})

/** The other nodes may use this one now. */
async function joinCluster(cluster: Cluster, gateway: Gateway, own: RequestHistory): Promise<void> {
  cluster.peers.serve(peerMethods(own, gateway.registry))
  await cluster.announce(gateway.bound.agent, gateway.clientConnections)
}

/** A gateway in this process. */
export async function startInProcess(parts: GatewayParts): Promise<GatewayHandle> {
  const { settings, log, cluster } = parts
  const directory = cluster?.directory ?? new LocalDirectory(log)
  const node = cluster?.node ?? 'main'
  const config = gatewayConfig(parts, { node, recentNames: namesBefore(settings.data_dir) })
  const names = new OnlineNamesFile(settings.data_dir, directory, log)
  parts.traffic.watchSessions(ownSessions(directory, node))
  const gateway = await composeGateway(config, thisProcess(parts, { directory, cluster }))
  const { info, records, dialer, bound, metrics, explain } = gateway
  const own = ownHistory(gateway)
  if (cluster) await joinCluster(cluster, gateway, own)
  return {
    live: new LiveView({
      info,
      directory,
      records,
      dialer,
      requests: cluster ? clusterRequests(own, cluster) : own,
      explain,
    }),
    bound,
    records,
    clientConnections: gateway.clientConnections,
    processes: async () => [{ node: info.node, state: 'running', report: processReport() }],
    metrics: async () => renderMetrics(metrics.registry.snapshot()),
    reload: changes => gateway.reload(changes),
    quiesce: deadlineMs => gateway.quiesce(deadlineMs),
    moveOut: deadlineMs => gateway.moveOut(deadlineMs),
    async drain(deadlineMs) {
      await names.close()
      await gateway.drain(deadlineMs)
    },
  }
}
