import { pageByIdDesc } from '#base/page-by-id.ts'
import type { Cluster } from '#cluster/nodes/cluster.ts'
import { RemoteWatches, WatchedRequests } from '#cluster/nodes/watched-requests.ts'
import type { AgentDialer } from '#registry/agent-dialer.ts'
import type { AgentCommand } from '#registry/directory.ts'
import type { CaptureRecord, ReplayOrder, RequestHistory, RequestPage } from '#contract/request-history.ts'

type ResourceBody = Record<string, unknown>

/** The requests of all nodes: each node keeps its own, and is asked for them. */
export function clusterRequests(own: RequestHistory, cluster: Cluster): RequestHistory {
  const remote = new RemoteWatches(cluster)
  return {
    find: async id =>
      (await own.find(id)) ?? (await cluster.peers.callAll<ResourceBody>('findRequest', id))[0],
    async list(page) {
      const theirs = cluster.peers.callAll<ResourceBody[]>('listRequests', page)
      const found = [...(await own.list(page)), ...(await theirs).flat()]
      return pageByIdDesc(found, ({ id }) => String(id), page)
    },
    watch(filters, watcher) {
      const stops = [own.watch(filters, watcher), remote.watch(filters, watcher)]
      return () => stops.forEach(stop => stop())
    },
    capture: async id =>
      (await own.capture(id)) ?? (await cluster.peers.callAll<CaptureRecord>('findCapture', id))[0],
    async replay(order) {
      if ((await own.capture(order.id)) !== undefined) return own.replay(order)
      for (const { id } of cluster.membership.others) {
        const isThere = await cluster.peers.call<boolean>(id, 'hasCapture', order.id).catch(() => false)
        if (isThere) return cluster.peers.call(id, 'replay', order)
      }
      return undefined
    },
  }
}

/** What a node answers the others. */
export function peerMethods(
  own: RequestHistory,
  local: Pick<AgentDialer, 'probe' | 'roundTrip' | 'command'>,
) {
  const watched = new WatchedRequests(own)
  return {
    findRequest: (id: string) => own.find(id),
    listRequests: (page: RequestPage) => own.list(page),
    findCapture: (id: string) => own.capture(id),
    hasCapture: async (id: string) => (await own.capture(id)) !== undefined,
    replay: (order: ReplayOrder) => own.replay(order),
    nextRequests: (watch: Parameters<WatchedRequests['next']>[0]) => watched.next(watch),
    probe: (sessionId: string) => local.probe(sessionId),
    roundTrip: (sessionId: string) => local.roundTrip(sessionId),
    command: async ({ sessionId, command }: { sessionId: string; command: AgentCommand }) => {
      await local.command(sessionId, command)
    },
  }
}
