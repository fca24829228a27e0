import type { TunnelRecord } from '#registry/directory.ts'
import { DialError, type AgentDialer } from '#registry/agent-dialer.ts'
import { otherConnections } from '#registry/agent-connections.ts'

const isOffline = (error: unknown): boolean => error instanceof DialError && error.code === 'offline'

/**
 * Uses the connection that an agent has with this process, and another one when that is lost. Other processes learn of
 * a loss a moment later, and of a new tunnel a moment before its agent is ready.
 */
export function dialAnyConnection(
  node: string,
  tunnels: ReadonlyMap<string, TunnelRecord>,
  dial: AgentDialer['dial'],
): AgentDialer['dial'] {
  return async (tunnel, header, first) => {
    const all = [tunnel, ...otherConnections(tunnels, tunnel)]
    const near = tunnel.node === node ? undefined : all.find(other => other.node === node)
    const ordered = near === undefined ? all : [near, ...all.filter(other => other !== near)]
    const failures: unknown[] = []
    for (const each of ordered) {
      try {
        return await dial(each, each === tunnel ? header : { ...header, Id: each.id }, first)
      } catch (error) {
        if (failures.length === 0 && !isOffline(error)) throw error
        failures.push(error)
      }
    }
    throw failures[0]
  }
}
