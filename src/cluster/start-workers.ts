import { StartError } from '#base/start-error.ts'
import { infoOf } from '#cluster/gateway-config.ts'
import type { GatewayHandle, GatewayParts } from '#cluster/gateway-handle.ts'
import { clusterRequests, peerMethods } from '#cluster/nodes/cluster-requests.ts'
import { WorkerProcesses } from '#cluster/worker-processes.ts'
import { Workers } from '#cluster/workers.ts'
import { LiveView } from '#registry/live.ts'
import { Records } from '#registry/records/records.ts'

/** Runs the gateway in several processes. */
export async function startWorkers(parts: GatewayParts): Promise<GatewayHandle> {
  await using opened = new AsyncDisposableStack()
  const { settings, version, source, cluster } = parts
  let drainMs = 0
  const workers = opened.adopt(new Workers(parts, parts.workerHost ?? new WorkerProcesses()), it =>
    it.drain(drainMs),
  )
  try {
    await workers.start()
  } catch (error) {
    throw new StartError(error instanceof Error ? error.message : String(error))
  }
  const records = new Records(parts.log)
  opened.defer(await records.follow(source))
  const { directory, bound } = workers
  const info = {
    ...infoOf(settings, cluster?.node ?? 'main', version),
    httpPort: bound.http && (settings.public_http_port ?? bound.http.port),
    httpsPort: bound.https && (settings.public_https_port ?? bound.https.port),
  }
  if (cluster) {
    cluster.peers.serve(peerMethods(workers.requests, workers.local))
    await cluster.announce(bound.agent, () => workers.clientConnections ?? 0)
  }
  const running = opened.move()
  return {
    live: new LiveView({
      info,
      directory,
      records,
      dialer: workers.dialer,
      requests: cluster ? clusterRequests(workers.requests, cluster) : workers.requests,
      explain: workers.requests.explain,
    }),
    bound,
    records,
    clientConnections: () => workers.clientConnections,
    processes: () => workers.processes(),
    metrics: () => workers.metrics(),
    reload: changes => workers.reload(changes),
    quiesce: deadlineMs => workers.quiesce(deadlineMs),
    moveOut: deadlineMs => workers.moveOut(deadlineMs),
    drain(deadlineMs) {
      drainMs = deadlineMs
      return running.disposeAsync()
    },
  }
}
