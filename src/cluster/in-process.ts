import { renderMetrics } from '#base/metrics-text.ts'
import { composeGateway } from '#cluster/compose-gateway.ts'
import type { FirstProcess } from '#cluster/first-process.ts'
import { gatewayConfig } from '#cluster/gateway-config.ts'
import type { GatewayHandle, GatewayParts } from '#cluster/gateway-handle.ts'
import { namesBefore, OnlineNamesFile } from '#cluster/online-names.ts'
import type { Gateway } from '#gateway/gateway.ts'
import { processReport } from '#cluster/process-status.ts'
import type { Directory } from '#registry/directory.ts'
import { LiveView, type RequestHistory } from '#registry/live.ts'
import { LocalDirectory } from '#registry/local-directory.ts'

/** This process is the first one, and the only one. */
function thisProcess(
  { source, userSessions, log, sharesPorts, traffic, usage }: GatewayParts,
  directory: Directory,
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
    connectPeers: undefined,
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

/** A gateway in this process. */
export async function startInProcess(parts: GatewayParts): Promise<GatewayHandle> {
  const { settings, log } = parts
  const directory = new LocalDirectory(log)
  const config = gatewayConfig(parts, { node: 'main', recentNames: namesBefore(settings.data_dir) })
  const names = new OnlineNamesFile(settings.data_dir, directory, log)
  parts.traffic.watchSessions(directory)
  const gateway = await composeGateway(config, thisProcess(parts, directory))
  const { info, records, registry, bound, metrics, explain } = gateway
  return {
    live: new LiveView({
      info,
      directory,
      records,
      dialer: registry,
      requests: ownHistory(gateway),
      explain,
    }),
    bound,
    records,
    processes: async () => [{ node: info.node, state: 'running', report: processReport() }],
    metrics: async () => renderMetrics(metrics.registry.snapshot()),
    quiesce: deadlineMs => gateway.quiesce(deadlineMs),
    moveOut: deadlineMs => gateway.moveOut(deadlineMs),
    async drain(deadlineMs) {
      await names.close()
      await gateway.drain(deadlineMs)
    },
  }
}
