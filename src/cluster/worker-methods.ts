import type { CodeClaim } from '#auth/sign-in/code-claims.ts'
import type { SignedInUser } from '#auth/sign-in/user-session-store.ts'
import type { GatewayParts } from '#cluster/gateway-handle.ts'
import type { AgentDialer } from '#registry/agent-dialer.ts'
import type { AgentCommand, Directory, SessionEnd, SessionRecord, TunnelRecord } from '#registry/directory.ts'
import type { TrafficBatch } from '#telemetry/traffic-events.ts'
import type { SeriesUsage } from '#telemetry/usage/series-usage.ts'

type Parts = Pick<GatewayParts, 'userSessions' | 'traffic' | 'usage' | 'cluster' | 'source'>

/** What the first process decides for its workers. */
export const workerMethods = (
  { userSessions, traffic, usage, cluster, source }: Parts,
  directory: Directory,
  dialer: () => Pick<AgentDialer, 'probe' | 'roundTrip' | 'command'>,
) => ({
  traffic: async (batch: TrafficBatch) => traffic.publish(batch),
  usage: async (counted: readonly SeriesUsage[]) => usage.add(counted),
  signedIn: (signedIn: SignedInUser) => userSessions.signedIn(signedIn),
  sessionEnded: (id: string) => userSessions.ended(id),
  claimCode: (claim: CodeClaim) => userSessions.claimCode(claim),
  addSession: (record: SessionRecord) => directory.addSession(record),
  removeSession: (session: { id: string; node: string; end?: SessionEnd }) =>
    directory.removeSession(session.id, session.node, session.end),
  addTunnel: (record: TunnelRecord) => directory.addTunnel(record),
  removeTunnel: (id: string) => directory.removeTunnel(id),
  probe: (sessionId: string) => dialer().probe(sessionId),
  roundTrip: (sessionId: string) => dialer().roundTrip(sessionId),
  command: (order: { sessionId: string; command: AgentCommand }) =>
    dialer().command(order.sessionId, order.command),
  // The workers have the result before the response.
  refreshLease: async () => cluster?.refreshLease(),
  refreshRecords: () => source.refresh(),
})
