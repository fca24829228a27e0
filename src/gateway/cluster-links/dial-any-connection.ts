import type { TunnelRecord } from '#registry/directory.ts'
import { DialError, type AgentDialer } from '#registry/agent-dialer.ts'
import { otherConnections } from '#registry/agent-connections.ts'

/**
 * Uses another connection of an agent when the chosen one is lost. Other processes learn of that a moment later, and of
 * a new tunnel a moment before its agent is ready.
 */
export function dialAnyConnection(
  tunnels: ReadonlyMap<string, TunnelRecord>,
  dial: AgentDialer['dial'],
): AgentDialer['dial'] {
  return (tunnel, header, first) =>
    dial(tunnel, header, first).catch(async (error: unknown) => {
      if (!(error instanceof DialError) || error.code !== 'offline') throw error
      for (const other of otherConnections(tunnels, tunnel)) {
        try {
          return await dial(other, { ...header, Id: other.id }, first)
        } catch {
          // Report the first failure.
        }
      }
      throw error
    })
}
