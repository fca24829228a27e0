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
    const tried = new Set<TunnelRecord>()
    // Read again each time: while one process refuses, the agent may connect to the next.
    const next = (): TunnelRecord | undefined => {
      const left = [tunnel, ...otherConnections(tunnels, tunnel)].filter(each => !tried.has(each))
      return left.find(each => each.node === node) ?? left[0]
    }
    const failures: unknown[] = []
    for (let each = next(); each !== undefined; each = next()) {
      tried.add(each)
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
